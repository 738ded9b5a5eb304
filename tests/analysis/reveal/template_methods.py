"""A base calls what only its subclasses define; a mixin uses what only its subclasses have.

The base is also analysed on its own: there, what it calls is unknown.
"""

from transformers import Trainer


class Base(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, metrics = self.loss_and_metrics(model, inputs)
        reveal_rank(metrics["same"])  # revealed: same | unknown
        reveal_rank(metrics["local"])  # revealed: local(data) | unknown
        self.kept = loss
        return loss

    def loss_and_metrics(self, model, inputs):
        raise NotImplementedError


class Mixin:
    def mixed_in(self, value):
        return self.accelerator.gather(value).mean()


class Derived(Mixin, Base):
    def loss_and_metrics(self, model, inputs):
        loss = model(**inputs).loss
        reveal_rank(self.mixed_in(loss))  # revealed: same
        return loss, {"local": loss, "same": self.accelerator.gather(loss).mean()}

    def log(self, logs, start_time=None):
        reveal_rank(self.kept)  # revealed: local(data)
        super().log(logs, start_time)
