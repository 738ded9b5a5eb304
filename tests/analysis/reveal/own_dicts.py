"""Classes of a project that inherit from a dict: what is in their objects."""

from collections import OrderedDict, defaultdict

from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Given(dict):
    def __init__(self, loss):
        super().__init__({"loss": loss}, rate=0.1)

    def loss(self):
        return self["loss"]

    def largest(self):
        return [value for value in self.values() if value > 0][0]


class Filled(OrderedDict):
    def __init__(self, loss):
        self["loss"] = loss
        self["rate"] = 0.1

    def add(self, name, value):
        self[name] = value

    def all(self):
        return [(name, value) for name, value in self.items()]


class Plain(dict):
    def rate(self):
        return self["rate"]

    def first(self):
        return super().get("loss")


class Below(Plain):
    pass


class Lists(defaultdict):
    def __init__(self):
        super().__init__(list)

    def note(self, name, value):
        self[name].append(value)


class Own(dict):
    def __init__(self, loss):
        super().__init__({"loss": loss})

    def __getitem__(self, name):
        return reduced_over_all(name)


class Hidden(dict):
    def __init__(self, **entries):
        super().__init__(**entries)


accelerator = Accelerator()
model, loader = accelerator.prepare(nn.Linear(2, 1), DataLoader(load()))
for batch in loader:
    loss = model(batch).mean()

    given = Given(loss)
    reveal_rank(given.loss())  # revealed: partial(mean)
    reveal_rank(given["rate"])  # revealed: same
    reveal_rank(given.get("loss"))  # revealed: local(data)
    reveal_rank(given.largest())  # revealed: local(data)
    for name in given:
        reveal_rank(name)  # revealed: same

    filled = Filled(loss)
    reveal_rank(filled["loss"])  # revealed: partial(mean)
    reveal_rank(filled["rate"])  # revealed: same
    filled.add("norm", loss.detach())
    filled["mean"] = accelerator.gather(loss).mean()
    reveal_rank(filled["norm"])  # revealed: partial(mean)
    reveal_rank(filled["mean"])  # revealed: same
    reveal_rank(filled["other"])  # revealed: unknown

    plain = Plain({"loss": loss, "rate": 0.1})
    reveal_rank(plain.rate())  # revealed: same
    reveal_rank(plain.first())  # revealed: local(data)
    reveal_rank(Below(loss=loss)["loss"])  # revealed: partial(mean)
    reveal_rank(Plain(**read(loss))["loss"])  # revealed: unknown

    lists = Lists()
    lists.note("loss", loss.item())
    reveal_rank(lists["loss"][0])  # revealed: partial(mean)

    reveal_rank(Own(loss)["loss"])  # revealed: unknown
    reveal_rank(Hidden(loss=loss)["loss"])  # revealed: partial(mean)
    reveal_rank(Hidden(**read(loss))["loss"])  # revealed: unknown
