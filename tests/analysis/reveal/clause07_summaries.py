"""Clause 7: a function is summarised for the facts of its arguments; at most eight contexts, then joined."""

from functools import partial

import torch
from accelerate import Accelerator
from transformers import Trainer

accelerator = Accelerator()


def identity(value):
    return value


def double(value):
    reveal_rank(value)  # revealed: same | local(data) | shard
    return value * 2


def gathered(value):
    return accelerator.gather(value).mean()


def mean_of(values, mask=None):
    if mask is not None:
        values = values * mask
    return values.mean()


def pair(value):
    return value, gathered(value)


def fill(metrics, key, value):
    metrics[key] = value


def made(value):
    return {"local": value, "same": gathered(value)}


def nothing(value):
    value + 1


def recursive(value, depth):
    if depth == 0:
        return value
    return recursive(value, depth - 1)


def generated(values):
    for value in values:
        yield value * 2


def starred(*values, **named):
    return values[0], named["b"]


def defaulted(value=1.0):
    return value


def looped(values):
    total = 0.0
    for value in values:
        total = total + value
    return total


def many(value):
    return value


class Calls(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        x = inputs["x"].float()

        reveal_rank(identity(1.0))  # revealed: same
        reveal_rank(identity(loss))  # revealed: local(data)
        reveal_rank(identity(x))  # revealed: shard
        reveal_rank(identity(something_unknown()))  # revealed: unknown
        double(1.0)
        double(loss)
        double(x)
        reveal_rank(gathered(loss))  # revealed: same
        reveal_rank(mean_of(x))  # revealed: partial(mean)
        reveal_rank(mean_of(x, mask=inputs["mask"]))  # revealed: partial(mean)
        reveal_rank(mean_of(values=x))  # revealed: partial(mean)
        local, same = pair(loss)
        reveal_rank(local)  # revealed: local(data)
        reveal_rank(same)  # revealed: same
        metrics = {}
        fill(metrics, "a", loss)
        fill(metrics, "b", 1.0)
        reveal_rank(metrics["a"])  # revealed: local(data)
        reveal_rank(metrics["b"])  # revealed: same
        reveal_rank(made(loss)["local"])  # revealed: local(data)
        reveal_rank(made(loss)["same"])  # revealed: same
        reveal_rank(nothing(loss))  # revealed: same
        reveal_rank(recursive(loss, 3))  # revealed: local(data)
        reveal_rank(next(generated([loss])))  # revealed: local(data)
        first, second = starred(loss, 1.0, a=loss, b=1.0)
        reveal_rank(first)  # revealed: local(data)
        reveal_rank(second)  # revealed: same
        reveal_rank(starred(*[1.0], **{"b": loss})[1])  # revealed: local(data)
        reveal_rank(defaulted())  # revealed: same
        reveal_rank(defaulted(loss))  # revealed: local(data)
        reveal_rank(looped([1.0, loss]))  # revealed: local(data)
        reveal_rank((lambda value: value * 2)(loss))  # revealed: local(data)
        reveal_rank(partial(identity)(loss))  # revealed: local(data)

        # The wrapped, the bare and another model are not joined.
        reveal_rank(self.own(1.0))  # revealed: same
        reveal_rank(self.own(loss))  # revealed: local(data)
        reveal_rank(self.static(loss))  # revealed: local(data)
        reveal_rank(Calls.static(1.0))  # revealed: same
        reveal_rank(self.by_class(loss))  # revealed: local(data)
        method = self.own
        reveal_rank(method(loss))  # revealed: local(data)
        helper = gathered if self.args.flag else gathered
        reveal_rank(helper(loss))  # revealed: same

        # Nested functions see the names of the function around them.
        scale = loss.detach()

        def scaled(value):
            return value * scale

        def collected(value):
            seen.append(value)

        seen = []
        reveal_rank(scaled(2.0))  # revealed: local(data)
        collected(loss)
        reveal_rank(seen[0])  # revealed: local(data)

        def inner_gather(value):
            return self.accelerator.gather(value).mean()

        reveal_rank(inner_gather(loss))  # revealed: same
        reveal_rank(inner_gather(x))  # revealed: same
        return loss

    def own(self, value):
        return value + 1

    @staticmethod
    def static(value):
        return value + 1

    @classmethod
    def by_class(cls, value):
        return value + 1

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        # Each context keeps its own answer up to the eighth.
        loss = model(**inputs).loss
        x = inputs["x"].float()
        reveal_rank(many(1.0))  # revealed: same
        reveal_rank(many(loss))  # revealed: local(data)
        reveal_rank(many(x))  # revealed: shard
        reveal_rank(many(x.sum()))  # revealed: partial(sum)
        reveal_rank(many(x.mean()))  # revealed: partial(mean)
        reveal_rank(many(x.max()))  # revealed: partial(max)
        reveal_rank(many(len(x)))  # revealed: partial(count)
        reveal_rank(many(torch.zeros(2)))  # revealed: same
        return loss
