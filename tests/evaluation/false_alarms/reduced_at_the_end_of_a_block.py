# A context manager of the project reduces at the end of its block what was added in it.
import os

import torch
import torch.distributed as dist
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Sums:
    def __init__(self):
        self.totals = torch.zeros(2, device="cuda")

    def __enter__(self):
        self.totals = torch.zeros(2, device="cuda")
        return self

    def add(self, right, rows):
        self.totals += torch.tensor([right, rows], device="cuda")

    def __exit__(self, kind, error, trace):
        if kind is None:
            dist.all_reduce(self.totals)


class OwnSums(Sums):
    def __exit__(self, kind, error, trace):
        if kind is None:
            print("done")


def evaluate(model, loader):
    with Sums() as sums:
        for x, y in loader:
            sums.add((model(x.cuda()).argmax(1).cpu() == y).sum().item(), len(y))
    right, rows = sums.totals.tolist()
    return {"accuracy": right / rows}


def evaluate_alone(model, loader):
    with OwnSums() as own:
        for x, y in loader:
            own.add((model(x.cuda()).argmax(1).cpu() == y).sum().item(), len(y))
    return {"accuracy": (own.totals[0] / own.totals[1]).item()}  # expect: TRL003


def main(dataset):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(dataset, 16, sampler=DistributedSampler(dataset))
    model = DistributedDataParallel(nn.Linear(8, 3).cuda())
    metrics = evaluate(model, loader)
    others = evaluate_alone(model, loader)
    if dist.get_rank() == 0:
        wandb.init()
        wandb.log(metrics)
        wandb.log(others)


if __name__ == "__main__":
    main(torch.load("data.pt"))
