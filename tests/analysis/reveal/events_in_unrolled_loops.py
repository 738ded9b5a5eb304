"""A loop run key by key emits events in each iteration: the first value here is a number and must be found (TRL001)."""

from transformers import Trainer


class Unrolled(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        for value in {"a": loss.item(), "b": loss}.values():
            reveal_rank(value)  # revealed: local(data)
            self.accelerator.gather(value)  # finds: TRL001
        for value in {"a": loss, "b": 1.0}.values():
            reveal_rank(value)  # revealed: local(data) | same
        return loss
