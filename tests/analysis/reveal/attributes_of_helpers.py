"""Starred arguments passed on by `__init__` are the same on all ranks; a known plain object keeps its arguments."""

from transformers import Trainer


class Base(Trainer):
    def __init__(self, model, args, beta=0.1, **kwargs):
        super().__init__(model, args, **kwargs)
        self.beta = beta
        self.scale = args.scale


class Derived(Base):
    def __init__(self, *args, gamma=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.gamma = gamma

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        reveal_rank(self.gamma)  # revealed: same
        reveal_rank(self.beta)  # revealed: same
        reveal_rank(self.scale)  # revealed: same
        return model(**inputs).loss


class Tracker:
    def __init__(self):
        self.value = 0.0
        self.count = 0

    def add(self, value):
        self.value += value
        self.count += 1

    def mean(self):
        return self.value / self.count


class WithTracker(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tracker = Tracker()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.tracker.add(loss.item())
        reveal_rank(self.tracker.mean())  # revealed: local(data)
        reveal_rank(self.tracker.count)  # revealed: same
        return loss
