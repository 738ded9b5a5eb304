# One backward pass goes through the wrapper and past it: DDP reduces the sum of both gradients.
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
