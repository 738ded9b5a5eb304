"""Plain objects: what their class's constructor or a record type was given."""

from collections import namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple

from transformers import Trainer


@dataclass
class Output:
    loss: float
    metrics: dict = field(default_factory=dict)


class Pair(NamedTuple):
    a: float
    b: float


Point = namedtuple("Point", ["x", "y"])


class Stat:
    def __init__(self, value):
        self.value = value

    @classmethod
    def make(cls, value):
        return cls(value)


class Objects(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        same = self.accelerator.gather(loss).mean()
        output = Output(loss, {"a": loss, "b": same})
        reveal_rank(output.loss)  # revealed: local(data)
        reveal_rank(output.metrics["a"])  # revealed: local(data)
        reveal_rank(output.metrics["b"])  # revealed: same
        pair = Pair(loss, same)
        reveal_rank(pair.a)  # revealed: local(data)
        reveal_rank(pair.b)  # revealed: same
        point = Point(loss, y=same)
        reveal_rank(point.x)  # revealed: local(data)
        x, y = point
        reveal_rank(x)  # revealed: local(data)
        reveal_rank(y)  # revealed: same
        stat = Stat(loss)
        reveal_rank(stat.value)  # revealed: local(data)
        reveal_rank(Stat.make(loss).value)  # revealed: local(data)
        return loss
