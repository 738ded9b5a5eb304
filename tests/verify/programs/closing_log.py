"""A right Trainer of three steps that logs every other: what it logs at the end counts this rank's third loss."""

import sys

from tiny import ARGUMENTS, tiny_model, token_rows
from transformers import Trainer, TrainingArguments


class Overrides(Trainer):
    def log(self, logs, *args, **kwargs):
        super().log({**logs, "rows": 1.0}, *args, **kwargs)


class LogsItsOwn(Trainer):
    def compute_loss(self, *args, **kwargs):
        loss = super().compute_loss(*args, **kwargs)
        self.log({"train_loss": loss.item()})
        return loss


TRAINERS = {"quietly": Trainer, "with an override": Overrides, "and its own": LogsItsOwn}
arguments = TrainingArguments(**{**ARGUMENTS, "max_steps": 3, "logging_steps": 2})
TRAINERS[sys.argv[1]](model=tiny_model(), args=arguments, train_dataset=token_rows()).train()
