"""Loaders with a sampler whose class an option chooses."""

import argparse

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, SequentialSampler

parser = argparse.ArgumentParser()
parser.add_argument("--ddp", action="store_true")
args = parser.parse_args()
dist.init_process_group("nccl")
data = make_data()

sampler_class = DistributedSampler if args.ddp else RandomSampler
for batch in DataLoader(data, sampler=sampler_class(data)):
    reveal_rank(batch)  # revealed: shard
for batch in DataLoader(data, sampler=DistributedSampler(data) if args.ddp else RandomSampler(data)):
    reveal_rank(batch)  # revealed: shard

other_class = SequentialSampler if args.ddp else RandomSampler
for batch in DataLoader(data, sampler=other_class(data)):
    reveal_rank(batch)  # revealed: unknown
for batch in DataLoader(data, sampler=SequentialSampler(data) if args.ddp else RandomSampler(data)):
    reveal_rank(batch)  # revealed: unknown
