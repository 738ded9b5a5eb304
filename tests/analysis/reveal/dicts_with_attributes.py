"""Classes of a project that are dicts whose entries are attributes too."""

from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Entries(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for name, value in kwargs.items():
            self[name] = value

    def __getattr__(self, name):
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value


class Own(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Averaging(dict):
    def __getattr__(self, name):
        return reduced_over_all(self[name])

    def average(self):
        return sum(self.values()) / len(self)


accelerator = Accelerator()
model, loader = accelerator.prepare(nn.Linear(2, 1), DataLoader(load()))
for batch in loader:
    loss = model(batch).mean()
    found = Entries(total=loss, rate=0.1)
    reveal_rank(found.total)  # revealed: partial(mean)
    reveal_rank(found["rate"])  # revealed: same
    for name, value in found.items():
        reveal_rank(value)  # revealed: partial(mean) | same
    found.norm = accelerator.gather(loss).mean()
    reveal_rank(found.norm)  # revealed: same
    reveal_rank(Entries({"total": loss}).total)  # revealed: partial(mean)
    reveal_rank(Own(total=loss, rate=0.1).rate)  # revealed: same
    reveal_rank(Own(**unknown(loss)).rate)  # revealed: unknown
    averaged = Averaging(total=loss, rate=0.1)
    reveal_rank(averaged.total)  # revealed: unknown
