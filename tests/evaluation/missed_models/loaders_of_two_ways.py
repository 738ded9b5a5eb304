# A helper makes the loader of several processes on one way out, and that of one on the other: each rank scores its own.
import argparse

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def by_option(args, rows, size, rank):
    is_dist = bool(getattr(args, "distributed", False))
    if is_dist:
        sampler = DistributedSampler(rows, num_replicas=size, rank=rank, shuffle=False)
        loader = DataLoader(rows, sampler=sampler)
        return loader, sampler
    else:
        loader = DataLoader(rows, batch_size=4)
        return loader, None


def by_setting(config, rows, size, rank):
    if config.is_dist:
        sampler = DistributedSampler(rows, num_replicas=size, rank=rank, shuffle=False)
        return DataLoader(rows, sampler=sampler), sampler
    return DataLoader(rows, batch_size=4), None


def loader_alone(config, rows, size, rank):
    if not config.is_dist:
        return DataLoader(rows, batch_size=4)
    return DataLoader(rows, sampler=DistributedSampler(rows, num_replicas=size, rank=rank, shuffle=False))


def by_split(config, rows, size, rank):
    if config.split == "train":
        sampler = DistributedSampler(rows, num_replicas=size, rank=rank, shuffle=False)
        return DataLoader(rows, sampler=sampler), sampler
    return DataLoader(rows, batch_size=4), None


def by_other_option(args, rows, size, rank):
    if getattr(args, "whole", False):
        return DataLoader(rows, batch_size=4), None
    sampler = DistributedSampler(rows, num_replicas=size, rank=rank, shuffle=False)
    return DataLoader(rows, sampler=sampler), sampler


def score(net, loader):
    total = 0.0
    for rows in loader:
        total += net(rows).mean().item()
    return {"loss": total / len(loader)}


def run_epoch(net, failed, val_loader=None, writer=None):
    stats = {"loss": float("inf")} if failed else score(net, val_loader)
    writer.add_scalar("epoch", stats.get("loss", 0.0), 0)  # expect: TRL003


def main(net, rows, config, failed):
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--whole", action="store_true")
    args = parser.parse_args()
    if args.distributed:
        dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    first, _ = by_option(args, rows, size, rank)
    second, _ = by_setting(config, rows, size, rank)
    third = loader_alone(config, rows, size, rank)
    split, _ = by_split(config, rows, size, rank)
    other, _ = by_other_option(args, rows, size, rank)
    if rank == 0:
        writer = SummaryWriter("logs")
        writer.add_scalar("first", score(net, first)["loss"], 0)  # expect: TRL003
        writer.add_scalar("second", score(net, second)["loss"], 0)  # expect: TRL003
        writer.add_scalar("third", score(net, third)["loss"], 0)  # expect: TRL003
        writer.add_scalar("split", score(net, split)["loss"], 0)
        writer.add_scalar("other", score(net, other)["loss"], 0)
        run_epoch(net, failed, val_loader=first, writer=writer)
