"""A loader or sampler of unknown origin gives each rank its own share if `set_epoch` of the sampler is called."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from somewhere import make_data, make_loader, make_loaders, make_sampler

dist.init_process_group("nccl")
args = read_arguments()

train_loader, val_loader = make_loaders(args)
for epoch in range(3):
    if args.distributed:
        train_loader.sampler.set_epoch(epoch)
    for images, labels in train_loader:
        reveal_rank(images)  # revealed: shard
    for step, (images, labels) in enumerate(train_loader):
        reveal_rank(labels)  # revealed: shard
    for images, labels in val_loader:
        reveal_rank(images)  # revealed: unknown

inner_loader = make_loader(args)
inner_loader.batch_sampler.sampler.set_epoch(0)
for batch in inner_loader:
    reveal_rank(batch)  # revealed: shard

train_sampler = make_sampler(args)
train_sampler.set_epoch(0)
for batch in DataLoader(make_data(), sampler=train_sampler):
    reveal_rank(batch)  # revealed: shard
for batch in DataLoader(make_data(), sampler=make_sampler(args)):
    reveal_rank(batch)  # revealed: unknown

rows = make_data()
rows.set_epoch(1)
for row in rows:
    reveal_rank(row)  # revealed: unknown


class Trains:
    def __init__(self, train_batches, val_batches):
        self.train_batches = train_batches
        self.val_batches = val_batches

    def epoch(self, epoch):
        self.train_batches.sampler.set_epoch(epoch)
        for batch in self.train_batches:
            reveal_rank(batch)  # revealed: shard
        for batch in self.val_batches:
            reveal_rank(batch)  # revealed: unknown


trains = Trains(make_loader(args), make_loader(args))
trains.epoch(0)


def one_epoch(loader: torch.utils.data.DataLoader, other: torch.utils.data.DataLoader, epoch):
    loader.sampler.set_epoch(epoch)
    for batch in loader:
        reveal_rank(batch)  # revealed: shard
    for batch in other:
        reveal_rank(batch)  # revealed: unknown


one_epoch(make_loader(args), make_loader(args), 0)
