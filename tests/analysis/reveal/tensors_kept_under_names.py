"""A tensor of a dict or an attribute that changes in place under a name is the one that is kept there."""

import torch
import torch.distributed as dist
from accelerate import Accelerator

accelerator = Accelerator()
model, loader = accelerator.prepare(make_model(), make_loader())


def add_up(keys):
    sums, places = {"kept": torch.zeros(2)}, {"a": torch.zeros(2), "b": torch.zeros(2), "c": torch.zeros(2)}
    for batch in loader:
        loss = model(batch)
        kept = sums["kept"]
        kept += loss.detach()
        made = sums.setdefault("made", torch.zeros(2))
        made.add_(loss.detach())
        copied = places["a"].clone()
        copied += loss.detach()
        new = places["b"]
        new = new + loss.detach()
        other = places["c"]
        places["c"] = torch.ones(2)
        other = other.mul(2)
    reveal_rank(sums["kept"])  # revealed: local(data)
    reveal_rank(sums["made"])  # revealed: shard
    reveal_rank(places["a"])  # revealed: same
    reveal_rank(places["b"])  # revealed: same
    reveal_rank(places["c"])  # revealed: same
    total = sums["kept"]
    dist.all_reduce(total)
    reveal_rank(sums["kept"])  # revealed: same
    reveal_rank(sums["made"])  # revealed: shard


def add_up_numbers():
    sums = {"count": 0}
    for batch in loader:
        count = sums["count"]
        count += batch["x"].sum().item()
    reveal_rank(sums["count"])  # revealed: same


class Meter:
    def __init__(self):
        self.total, self.first = torch.zeros(2), torch.zeros(2)

    def run(self):
        for batch in loader:
            self.total += model(batch).detach()
            self.first += model(batch).detach()
        total = self.total
        dist.all_reduce(total)
        reveal_rank(self.total)  # revealed: same
        reveal_rank(self.first)  # revealed: shard
        first = self.first
        self.first = torch.zeros(2)
        first += model(next(iter(loader)))
        reveal_rank(self.first)  # revealed: same


add_up([])
add_up_numbers()
Meter().run()
