# What is prepared is stored under FSDP alone, which takes attributes from the model; with DDP the bare model stays.
from transformers import Trainer


class Tuner(Trainer):
    def evaluation_loop(self, dataloader, description, **others):
        model = self._wrap_model(self.model, training=False, dataloader=dataloader)
        if len(self.accelerator._models) == 0 and model is self.model:
            model = (
                self.accelerator.prepare(model)
                if self.is_deepspeed_enabled or self.is_fsdp_enabled
                else self.accelerator.prepare_model(model, evaluation_mode=True)
            )
            if self.is_fsdp_enabled:
                self.model = model
        return super().evaluation_loop(dataloader, description, **others)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        self.model.set_adapter("reference")
        return model(**inputs).loss


class TunerOfAllEngines(Trainer):
    def evaluation_loop(self, dataloader, description, **others):
        self.model = self.accelerator.prepare(self.model)
        return super().evaluation_loop(dataloader, description, **others)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        self.model.set_adapter("reference")  # expect: TRL002
        return model(**inputs).loss
