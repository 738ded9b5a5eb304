# The class of the settings always sets `dataloader_drop_last`: no batch is incomplete, so that nothing is cut.
from dataclasses import dataclass

from transformers import Trainer, TrainingArguments


@dataclass
class Mixed:
    def __post_init__(self):
        super().__post_init__()


@dataclass
class FullBatches(Mixed, TrainingArguments):
    def __post_init__(self):
        super().__post_init__()
        self.dataloader_drop_last = True


@dataclass
class PerhapsFull(TrainingArguments):
    def __post_init__(self):
        super().__post_init__()
        if self.group_by_length:
            self.dataloader_drop_last = True


@dataclass
class OnlyOnce(FullBatches):
    def evaluate_all(self):
        self.dataloader_drop_last = False


class ByParameter(Trainer):
    def __init__(self, model, args: FullBatches | None = None, **kwargs):
        super().__init__(model, args, **kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.losses.append(self.accelerator.gather_for_metrics(loss.mean()).mean())
        return loss


class ByName(Trainer):
    def __init__(self, *args, **kwargs):
        args: FullBatches = kwargs["args"]
        self.args = args
        super().__init__(**kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.losses.append(self.accelerator.gather_for_metrics(loss.mean()).mean())
        return loss


class InBody(Trainer):
    args: FullBatches

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.losses.append(self.accelerator.gather_for_metrics(loss.mean()).mean())
        return loss


class UnderCondition(Trainer):
    args: PerhapsFull

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.losses.append(self.accelerator.gather_for_metrics(loss.mean()).mean())  # expect: TRL014
        return loss


class SetAgain(Trainer):
    def __init__(self, model, args: OnlyOnce, **kwargs):
        super().__init__(model, args, **kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.losses.append(self.accelerator.gather_for_metrics(loss.mean()).mean())  # expect: TRL014
        return loss


class Usual(Trainer):
    def __init__(self, model, args: TrainingArguments, **kwargs):
        super().__init__(model, args, **kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.losses.append(self.accelerator.gather_for_metrics(loss.mean()).mean())  # expect: TRL014
        return loss
