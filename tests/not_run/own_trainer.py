"""A trainer with a finding that is in the default set, unless nothing runs it."""

TRAINER = """\
from transformers import Trainer

class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        loss = model(**inputs).loss
        self.log({"own": loss.item()})
        return loss
"""
