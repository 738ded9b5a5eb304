"""A sampler that several processes have, where one process has another one."""

import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler

rows = load()

if args.distributed:
    sampler = DistributedSampler(rows)
else:
    sampler = RandomSampler(rows)
for batch in DataLoader(rows, sampler=sampler):
    reveal_rank(batch)  # revealed: shard
for batch in DataLoader(rows, batch_sampler=BatchSampler(sampler, 4, drop_last=True)):
    reveal_rank(batch)  # revealed: shard

later = torch.utils.data.SequentialSampler(rows)
if args.distributed:
    later = DistributedSampler(rows)
for batch in DataLoader(rows, sampler=later):
    reveal_rank(batch)  # revealed: shard

# Which one is used depends on the kind of the data.
if args.split == "train":
    of_kind = DistributedSampler(rows)
else:
    of_kind = RandomSampler(rows)
for batch in DataLoader(rows, sampler=of_kind):
    reveal_rank(batch)  # revealed: unknown

if args.balanced:
    either = torch.utils.data.WeightedRandomSampler(args.weights, 10)
else:
    either = RandomSampler(rows)
for batch in DataLoader(rows, sampler=either):
    reveal_rank(batch)  # revealed: unknown
