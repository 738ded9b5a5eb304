"""Trainer wraps a model for training; for evaluation it returns the model unwrapped."""

from transformers import Trainer


class OwnTrainer(Trainer):
    def evaluate(self, *args, **kwargs):
        model = self._wrap_model(self.model, training=False, dataloader=self.get_eval_dataloader())
        model.eval()
        model.config.pad_token_id = model.config.eos_token_id
        return super().evaluate(*args, **kwargs)

    def train(self, *args, **kwargs):
        model = self._wrap_model(self.model)
        print(model.config)  # expect: TRL002
        return super().train(*args, **kwargs)
