"""If neither engine is requested, no process group is started: there is one process, whose loss is the only one."""

import argparse
import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel


def train(model, loader, settings, rank):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        total += loss.detach()
    if settings.shards or settings.copies:
        if rank == 0:
            wandb.log({"loss": total})  # expect: TRL003
    else:
        wandb.log({"loss": total})


def main(model, data):
    settings = argparse.ArgumentParser().parse_args()
    rank = 0
    if settings.shards or settings.copies:
        dist.init_process_group("nccl")
        rank = int(os.environ["RANK"])
    sampler = None
    if settings.shards or settings.copies:
        sampler = torch.utils.data.DistributedSampler(data)
        model = DistributedDataParallel(model)
    train(model, torch.utils.data.DataLoader(data, sampler=sampler), settings, rank)


if __name__ == "__main__":
    main(torch.nn.Linear(2, 1), torch.randn(8, 2))
