"""A short method that stores values by name: each name keeps its own, however many there are."""

from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Metrics:
    def __init__(self):
        self.values = {}

    def store(self, name, value):
        self.values[name] = value


accelerator = Accelerator()
model, loader = accelerator.prepare(nn.Linear(2, 1), DataLoader(load()))
metrics = Metrics()
for batch in loader:
    loss = model(batch).mean()
    metrics.store("a", loss)
    metrics.store("b", loss.exp())
    metrics.store("c", loss.log())
    metrics.store("d", unknown(loss))
    metrics.store("e", 0.1)
    metrics.store("f", unknown(loss))
    metrics.store("g", loss > 0)
    metrics.store("h", batch)
    metrics.store("i", accelerator.gather(loss).mean())
    metrics.store("j", unknown(loss))
    metrics.store("k", loss)
    metrics.store("l", accelerator.gather(loss).max())
    reveal_rank(metrics.values["a"])  # revealed: partial(mean)
    reveal_rank(metrics.values["i"])  # revealed: same
    reveal_rank(metrics.values["j"])  # revealed: unknown
    reveal_rank(metrics.values["k"])  # revealed: partial(mean)
    reveal_rank(metrics.values["l"])  # revealed: same
