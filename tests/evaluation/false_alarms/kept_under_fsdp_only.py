# What the evaluation prepares for DeepSpeed is kept as the model under FSDP alone: the two exclude each other.
from transformers import AutoModelForCausalLM, Trainer


class Tuner(Trainer):
    def evaluate(self, rows=None, **others):
        return self.evaluation_loop(self.get_eval_dataloader(rows), "Evaluation")

    def evaluation_loop(self, dataloader, description, **others):
        model = self._wrap_model(self.model, training=False, dataloader=dataloader)
        if len(self.accelerator._models) == 0 and model is self.model:
            model = (
                self.accelerator.prepare(model)
                if self.is_deepspeed_enabled
                else self.accelerator.prepare_model(model, evaluation_mode=True)
            )
            if self.is_fsdp_enabled:
                self.model = model
        return [self.prediction_step(model, batch, True) for batch in dataloader]

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        return inputs["labels"][:, : self.model.config.max_length]


class TunerThatKeepsIt(Trainer):
    def evaluate(self, rows=None, **others):
        return self.evaluation_loop(self.get_eval_dataloader(rows), "Evaluation")

    def evaluation_loop(self, dataloader, description, **others):
        model = self._wrap_model(self.model, training=False, dataloader=dataloader)
        if len(self.accelerator._models) == 0 and model is self.model:
            model = (
                self.accelerator.prepare(model)
                if self.is_deepspeed_enabled
                else self.accelerator.prepare_model(model, evaluation_mode=True)
            )
            if self.args.keeps:
                self.model = model
        return [self.prediction_step(model, batch, True) for batch in dataloader]

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        return inputs["labels"][:, : self.model.config.max_length]  # expect: TRL002


Tuner(model=AutoModelForCausalLM.from_pretrained("gpt2")).evaluate()
TunerThatKeepsIt(model=AutoModelForCausalLM.from_pretrained("gpt2")).evaluate()
