# A class that says what `+` and `*` give: its sums are reduced by a method of their own, before they are shown.
import collections

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Sums(collections.defaultdict):
    def __init__(self):
        super().__init__(int)

    def __add__(self, other):
        result = Sums()
        for name, value in self.items():
            result[name] = value
        for name, value in other.items():
            result[name] = result[name] + value
        return result

    def __rmul__(self, factor):
        result = Sums()
        for name, value in self.items():
            result[name] = factor * value
        return result

    def reduce(self, device):
        names = sorted(self.keys())
        values = torch.tensor([float(self[name]) for name in names], device=device)
        dist.all_reduce(values)
        for name, value in zip(names, values.tolist(), strict=True):
            self[name] = value

    def write(self, writer, step):
        for name, value in self.items():
            writer.add_scalar(name, value / self["rows"], step)


class Total:
    def __init__(self, value=0.0):
        self.value = value

    def __iadd__(self, other):
        self.value += other
        return self

    def reduce(self):
        value = torch.tensor(self.value, device="cuda")
        dist.all_reduce(value)
        self.value = value.item()


def sums_of(model, rows):
    sums = Sums()
    sums["rows"] = len(rows)
    sums["loss"] = model(rows).sum().item()
    return sums


def evaluate(model, loader, writer):
    total, loss, own_loss = Sums(), Total(), Total()
    with torch.no_grad():
        for rows in loader:
            total = 0.9 * total + sums_of(model, rows)
            loss += model(rows).mean().item()
            own_loss += model(rows).mean().item()
    total.reduce("cuda")
    loss.reduce()
    if writer is not None:
        total.write(writer, 0)
        writer.add_scalar("loss", loss.value, 0)
        writer.add_scalar("own_loss", own_loss.value, 0)  # expect: TRL003


def main(model, rows):
    dist.init_process_group("nccl")
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    evaluate(model, loader, SummaryWriter("runs") if dist.get_rank() == 0 else None)


if __name__ == "__main__":
    main(torch.nn.Linear(8, 8), list(range(8)))
