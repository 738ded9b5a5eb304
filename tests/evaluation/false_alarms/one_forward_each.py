# Each path runs the wrapped model once: the one that leaves early, and both branches after it.
import torch
from accelerate import Accelerator


def scored(model, ids, mask, as_dict):
    if mask.all():
        return model(ids).logits
    out = model(input_ids=ids, attention_mask=mask, return_dict=True) if as_dict else model(ids, mask)
    return out.logits


class Wrapped:
    def __init__(self, model, cached):
        self.model = model
        self.cached = cached

    def run(self, batch):
        if batch["labels"].max() < 0:
            return self.model(**batch).loss * 0
        return self.model(**batch).loss if self.cached is None else self.model(**batch, past=self.cached).loss


def twice_for_some(model, ids, mask):
    if mask.all():
        return model(ids).logits  # expect: TRL006
    return model(ids).logits + model(ids, mask).logits


def train(model, optimizer, loader, as_dict, cached):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    wrapped = Wrapped(model, cached)
    for batch in loader:
        ids, mask = batch["input_ids"], batch["attention_mask"]
        once = scored(model, ids, mask, as_dict)
        more = wrapped.run(batch)
        other = twice_for_some(model, ids, mask)
        accelerator.backward(torch.stack([once.sum(), more, other.sum()]).sum())
