"""Records: dicts and tuples created from dataclasses, NamedTuples and pydantic models."""

import dataclasses
from dataclasses import asdict, dataclass, fields
from typing import NamedTuple

from pydantic import BaseModel
from transformers import Trainer


@dataclass
class Base:
    step: int


@dataclass
class Scores(Base):
    loss: float
    rate: float = 0.1

    def shown(self):
        return {f"train/{each.name}": getattr(self, each.name) for each in fields(self)}


class Pair(NamedTuple):
    loss: float
    metrics: dict


@dataclass
class Nested:
    scores: Scores
    epoch: int


class Model(BaseModel):
    loss: float
    epoch: int


class Outer(BaseModel):
    inner: Model | None = None
    rest: dict


class Plain:
    def __init__(self, loss):
        self.loss = loss


class Records(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss.detach().item()
        scores = Scores(3, loss)
        reveal_rank(scores.step)  # revealed: same
        for made in (asdict(scores), dataclasses.asdict(scores), vars(scores), scores.__dict__):
            reveal_rank(made["step"])  # revealed: same
            reveal_rank(made["loss"])  # revealed: local(data)
        reveal_rank(scores.shown()["train/loss"])  # revealed: local(data)
        reveal_rank(scores.shown()["train/step"])  # revealed: same
        nested = asdict(Nested(scores, epoch=1))
        reveal_rank(nested["scores"]["loss"])  # revealed: local(data)
        reveal_rank(nested["epoch"])  # revealed: same
        pair = Pair(loss, {"rate": 0.1})
        first, metrics = pair
        reveal_rank(first)  # revealed: local(data)
        reveal_rank(metrics["rate"])  # revealed: same
        reveal_rank(pair._asdict()["loss"])  # revealed: local(data)
        model = Model(loss=loss, epoch=1)
        reveal_rank(model.model_dump()["loss"])  # revealed: local(data)
        reveal_rank(model.model_dump()["epoch"])  # revealed: same
        made = Outer.model_validate({"inner": {"loss": loss, "epoch": 1}, "rest": {"loss": 1}})
        reveal_rank(made.inner.loss)  # revealed: local(data)
        reveal_rank(made.inner.epoch)  # revealed: same
        reveal_rank(made.rest["loss"])  # revealed: same
        reveal_rank(Outer.parse_obj(inputs).rest)  # revealed: shard
        reveal_rank(vars(Plain(loss)))  # revealed: unknown
        return loss
