"""An object of a class that inherits from torch's DataLoader gives the batches that its `super().__init__` is made for."""

import torch.distributed as dist
from prefetch_generator import BackgroundGenerator
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
args = read_arguments()


class Sharded(DataLoader):
    def __init__(self, rows, in_parts=True):
        sampler = DistributedSampler(rows) if in_parts else None
        super().__init__(rows, batch_size=args.batch_size, sampler=sampler, collate_fn=self.collate)

    def collate(self, rows):
        return len(rows), stack(rows)


class ShardedToo(Sharded):
    def __init__(self, rows):
        super().__init__(augmented(rows))


class Whole(DataLoader):
    def __init__(self, rows):
        super().__init__(rows, batch_size=args.batch_size)


class AsGiven(DataLoader):
    def describe(self):
        return f"{self.batch_size} rows"


class Mixed(DataLoader):
    def __init__(self, rows, split):
        sampler = DistributedSampler(rows) if split == "train" else None
        super().__init__(rows, sampler=sampler)


class GivesItself(Sharded):
    def __iter__(self):
        return gathered_from_all(super().__iter__())


for count, images in Sharded(make_rows(args)):
    reveal_rank(images)  # revealed: shard
for images in ShardedToo(make_rows(args)):
    reveal_rank(images)  # revealed: shard
for step, images in enumerate(AsGiven(make_rows(args), sampler=DistributedSampler(make_rows(args)))):
    reveal_rank(images)  # revealed: shard
for images in Whole(make_rows(args)):
    reveal_rank(images)  # revealed: unknown
for images in Mixed(make_rows(args), args.split):
    reveal_rank(images)  # revealed: unknown
for images in GivesItself(make_rows(args)):
    reveal_rank(images)  # revealed: unknown


class Stream:
    def __init__(self, source):
        self.queue = source

    def __iter__(self):
        return self

    def __next__(self):
        return self.queue.get()


def made_for(task):
    if task == "inference":
        return Stream(args.source)
    return Sharded(make_rows(args))


# Whether it is the one or the other is unknown.
for images in made_for(args.task):
    reveal_rank(images)  # revealed: unknown
for images in Sharded(make_rows(args)) if args.plain else ShardedToo(make_rows(args)):
    reveal_rank(images)  # revealed: shard


class Trainer:
    def train(self, loader):
        for epoch in range(3):
            loader.sampler.set_epoch(epoch)
            for images in loader:
                reveal_rank(images)  # revealed: shard


class Tester:
    def test(self, rows):
        for images in rows:
            reveal_rank(images)  # revealed: unknown


Trainer().train(made_for(args.task))
Tester().test(made_for(args.task))


class MadeAhead(DataLoader):
    def __iter__(self):
        return BackgroundGenerator(super().__iter__(), max_prefetch=8)


class GatheredAhead(DataLoader):
    def __iter__(self):
        return BackgroundGenerator(gathered_from_all(super().__iter__()))


for images in MadeAhead(make_rows(args), sampler=DistributedSampler(make_rows(args))):
    reveal_rank(images)  # revealed: shard
for images in GatheredAhead(make_rows(args), sampler=DistributedSampler(make_rows(args))):
    reveal_rank(images)  # revealed: unknown
for images in BackgroundGenerator(Sharded(make_rows(args))):
    reveal_rank(images)  # revealed: shard
