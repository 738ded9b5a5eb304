# One backward pass goes through the wrapper and past it: DDP reduces the sum of both gradients.
from transformers import Trainer


class Both(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        return loss + self.model(**next(self.more)).loss  # false: TRL009


class Past(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return self.model(**inputs).loss  # expect: TRL009
