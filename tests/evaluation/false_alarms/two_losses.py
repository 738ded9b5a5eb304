# One backward pass goes through the wrapper and around it: DDP reduces the sum of both gradients.
import torch
from transformers import Trainer


class Both(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        return loss + self.model(**next(self.more)).loss


class Past(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return self.model(**inputs).loss  # expect: TRL009


class Embedded(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        embedded = model.module.embed_tokens(inputs["input_ids"])
        return model(inputs_embeds=embedded, labels=inputs["labels"]).loss


class Compared(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        with torch.no_grad():
            before = model(**inputs).logits
        return (model.module(**inputs).logits - before).mean()  # expect: TRL009


class Helped(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return with_another(self, model(**inputs).loss)


def with_another(trainer: Trainer, loss):
    other = trainer.model(**next(trainer.more))
    other_loss = other.logits.mean()
    total = 0.5 * loss + 0.5 * other_loss
    return total


class Replaced(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return instead(self, inputs["weights"])


def instead(trainer: Trainer, weights):
    outputs = trainer.model(**next(trainer.more))  # expect: TRL009
    return (outputs.logits * weights).mean()
