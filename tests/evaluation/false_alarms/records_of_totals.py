# A record of the totals of all ranks is another object than the one with those of this rank.
import os
from dataclasses import astuple, dataclass
from typing import NamedTuple

import torch
import torch.distributed as dist
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Sums(NamedTuple):
    right: torch.Tensor
    rows: torch.Tensor


class OwnSums(NamedTuple):
    right: torch.Tensor
    rows: torch.Tensor


@dataclass
class Counts:
    right: float = 0.0
    rows: float = 0.0

    def everywhere(self):
        values = torch.tensor(astuple(self), device="cuda")
        dist.all_reduce(values)
        return Counts(*values.tolist())

    def share(self):
        return self.right / self.rows


def all_sum(sums):
    values = torch.stack(list(sums))
    dist.all_reduce(values)
    return Sums(*values)


def count(model, loader):
    sums = Sums(torch.zeros((), device="cuda"), torch.zeros((), device="cuda"))
    own = OwnSums(torch.zeros((), device="cuda"), torch.zeros((), device="cuda"))
    counts = Counts()
    for x, y in loader:
        right = (model(x.cuda()).argmax(1) == y.cuda()).sum()
        sums = Sums(sums.right + right, sums.rows + len(y))
        own = OwnSums(own.right + right, own.rows + len(y))
        counts.right += right.item()
        counts.rows += len(y)
    return sums, own, counts


def main(dataset):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(dataset, 16, sampler=DistributedSampler(dataset))
    model = DistributedDataParallel(nn.Linear(8, 3).cuda())
    sums, own, counts = count(model, loader)
    total = all_sum(sums)
    totals = counts.everywhere()
    if dist.get_rank() == 0:
        wandb.init()
        wandb.log({"accuracy": (total.right / total.rows).item()})
        wandb.log({"accuracy": totals.share()})
        wandb.log({"accuracy": (own.right / own.rows).item()})  # expect: TRL003
        wandb.log({"accuracy": counts.share()})  # expect: TRL003


if __name__ == "__main__":
    main(torch.load("data.pt"))
