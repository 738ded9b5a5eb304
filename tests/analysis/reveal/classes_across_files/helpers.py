"""Functions and classes that the trainers of the other files use."""

from transformers import Trainer

SCALE = 2.0


def local_mean(value):
    return value.mean()


def reduce_mean(accelerator, value):
    return accelerator.gather(value).mean()


class Mixin(Trainer):
    def mixed_in(self, value):
        return self.accelerator.gather(value).mean()
