"""A training loop that also runs on one plain process, with batches that are those of all ranks together."""

import os
import sys

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.arange(4.0) + index


def main(how):
    several = "RANK" in os.environ
    if several:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    if several:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for batch in DataLoader(Rows(), 2, sampler=DistributedSampler(Rows(), shuffle=False) if several else None):
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logged = loss.detach().clone()
        if several and how == "mean":
            dist.all_reduce(logged)
            logged /= dist.get_world_size()
        wandb.log({"error": logged})


main(*sys.argv[1:])
