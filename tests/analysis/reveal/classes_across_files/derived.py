"""The most derived class, in a separate file."""

from . import helpers, reduce_mean
from .base import Base as Root
from .helpers import Mixin
from .helpers import local_mean as average


class Derived(Mixin, Root):
    def loss_and_metrics(self, model, inputs):
        reveal_rank(inputs["x"])  # revealed: shard
        loss = model(**inputs).loss
        reveal_rank(average(inputs["x"]))  # revealed: partial(mean)
        reveal_rank(helpers.local_mean(inputs["x"]))  # revealed: partial(mean)
        reveal_rank(self.mean(inputs["x"]))  # revealed: partial(mean)
        reveal_rank(reduce_mean(self.accelerator, loss))  # revealed: same
        reveal_rank(helpers.reduce_mean(self.accelerator, loss))  # revealed: same
        reveal_rank(self.mixed_in(loss))  # revealed: same
        reveal_rank(self.beta)  # revealed: same
        reveal_rank(helpers.SCALE)  # revealed: same
        return loss, {"local": loss, "same": reduce_mean(self.accelerator, loss)}

    def log(self, logs, start_time=None):
        reveal_rank(self.kept)  # revealed: local(data)
        super().log(logs, start_time)
