"""Changes of attributes in a method of a Trainer that the library calls: `super().evaluate()` runs it."""

from transformers import Trainer


class Counting(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.total = 0.0
        self.own = 0.0

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        loss, logits, labels = super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)
        self.losses.append(loss.item())
        self.total += loss.item()
        return loss, logits, labels

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        self.last = model(**inputs).loss.item()
        return super().compute_loss(model, inputs, return_outputs)

    def training_step(self, model, inputs, num_items_in_batch=None):
        self.last = 0.0
        reveal_rank(self.last)  # revealed: same
        loss = super().training_step(model, inputs)
        reveal_rank(self.last)  # revealed: local(data)
        return loss

    def evaluate(self, *args, **kwargs):
        self.losses = []
        self.kept = []
        self.total = 0.0
        self.own = 1.0
        reveal_rank(sum(self.losses))  # revealed: same
        metrics = super().evaluate(*args, **kwargs)
        reveal_rank(sum(self.losses))  # revealed: local(data)
        reveal_rank(self.total)  # revealed: local(data)
        reveal_rank(sum(self.kept))  # revealed: same
        reveal_rank(self.own)  # revealed: same
        self.total = 0.0
        self.log({"total": self.total})
        reveal_rank(self.total)  # revealed: same
        return metrics
