# Each rank takes one of as many pieces of the rows as there are ranks, but has drawn an order of its own.
import argparse

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset


def block(rows, rank, world_size):
    order = torch.randperm(len(rows))  # expect: TRL015
    each = len(rows) // world_size
    return order[rank * each : (rank + 1) * each]


def chunk(rows, rank, world_size):
    order = torch.randperm(len(rows))  # expect: TRL015
    return order.chunk(world_size)[rank]


def pieces(rows, rank, world_size):
    order = np.random.permutation(len(rows))  # expect: TRL015
    cut = np.array_split(order, world_size)
    return cut[rank]


def in_order(rows, rank, world_size):
    return torch.arange(len(rows)).tensor_split(world_size)[rank]


def seeded(rows, rank, world_size):
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(1))
    return order.tensor_split(world_size)[rank]


def first_of_all(rows, rank, world_size):
    order = torch.randperm(len(rows))
    return order[:100]


def one_of_few(rows, rank, world_size):
    order = torch.randperm(len(rows))
    return order.chunk(4)[rank % 4]


def train(rank, world_size, rows):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    model = DistributedDataParallel(torch.nn.Linear(4, 4).to(rank), device_ids=[rank])
    for take in (block, chunk, pieces, in_order, seeded, first_of_all, one_of_few):
        for batch in DataLoader(Subset(rows, take(rows, rank, world_size)), batch_size=8):
            model(batch.to(rank)).mean().backward()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    args = parser.parse_args()
    mp.spawn(train, args=(args.gpus, torch.rand(100, 4)), nprocs=args.gpus)
