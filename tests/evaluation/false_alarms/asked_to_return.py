# An option of the batch for the model does not depend on its rows; a field of the batch does.
from transformers import Trainer


class MyTrainer(Trainer):
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        return_loss = inputs.get("return_loss", None)
        has_labels = all(inputs.get(name) is not None for name in self.label_names)
        if has_labels or (len(self.label_names) == 0 and return_loss):
            loss = self.compute_loss(model, inputs)
        else:
            loss = None
            model(**inputs)
        if inputs.get("weights").sum() > 0:
            self.accelerator.gather(loss)  # expect: TRL006
        return loss, None, None
