"""What `prediction_step` returns at each of its ends, which the evaluation loop gathers as it is.

What one end returns does not depend on what another one does, such as the library's own step.
"""

import torch
from transformers import Trainer


class EitherWay(Trainer):
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        if prediction_loss_only:
            return super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)
        with torch.no_grad():
            logits = model(**inputs).logits
        return None, logits.to("cpu"), inputs["labels"]  # expect: TRL011


class OnTheSameWay(Trainer):
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        with torch.no_grad():
            outputs = model(**inputs)
        logits = outputs.logits.cpu()  # expect: TRL011
        if "labels" not in inputs:
            return None, logits, None
        return outputs.loss, logits, inputs["labels"]


class OfTwoMakers(Trainer):
    def scored(self, inputs):
        return None, torch.zeros(4), inputs["labels"]  # expect: TRL011

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        if inputs["is_scored"]:
            return self.scored(inputs)
        return super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)


class StaysThere(Trainer):
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        if prediction_loss_only:
            return super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)
        with torch.no_grad():
            logits = model(**inputs).logits
        self.kept = logits.to("cpu")
        return None, logits, inputs["labels"]


class AsOneWasGiven(Trainer):
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        loss, logits, labels = super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)
        if self.scores:
            logits = torch.zeros(4).to(logits.device)
        return loss, logits, labels
