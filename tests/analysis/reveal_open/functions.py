"""A function with some of its arguments bound."""

from functools import partial

from transformers import Trainer


def scaled(value, factor):
    return value * factor


class Functions(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        bound = partial(scaled, factor=2.0)
        reveal_rank(bound(loss))  # revealed: local(data)
        reveal_rank(bound(1.0))  # revealed: same
        return loss
