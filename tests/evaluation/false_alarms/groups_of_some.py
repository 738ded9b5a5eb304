"""Collectives of one rank in a group of some ranks, and in groups of all ranks, in which the others are missing."""

import settings
import torch
import torch.distributed as dist


class Job:
    def __init__(self, rank, world_size):
        self.rank, self.opt = rank, settings.load()
        half = list(range(world_size // 2))
        without_first = list(range(world_size))
        without_first.remove(0)
        everyone = list(range(world_size))
        self.some = [
            dist.new_group([0]),
            dist.new_group(half),
            dist.new_group(without_first),
            dist.new_group(range(0, world_size, 8)),
            dist.new_group([i for i in range(world_size) if i % 8 == 0]),
        ]
        self.first = dist.new_group([0])
        self.half = dist.new_group(half)
        self.others = dist.new_group(without_first)
        self.heads = dist.new_group(range(0, world_size, 8))
        self.even = dist.new_group([i for i in range(world_size) if i % 2 == 0])
        self.chosen = dist.new_group(range(settings.SIZE))
        self.whole = dist.new_group(backend="gloo")
        self.listed = dist.new_group([i for i in range(world_size)])
        self.named = dist.new_group(everyone)
        self.counted = dist.new_group(list(range(dist.get_world_size())))
        if dist.get_backend() == "nccl":
            self.objects = dist.new_group(backend="gloo")
            self.near = dist.new_group(half)
        else:
            self.objects = dist.group.WORLD
            self.near = dist.group.WORLD

    def some_of_all(self):
        if self.rank == 0:
            dist.barrier(self.first)
            dist.barrier(self.half)
            dist.barrier(self.heads)
            dist.barrier(self.even)
            dist.barrier(self.chosen)
            dist.barrier(self.some[0])
        else:
            dist.barrier(self.others)

    def whole_group(self):
        if self.rank == 0:
            dist.barrier(self.whole)  # expect: TRL006

    def listed_group(self):
        if self.rank == 0 and self.opt.log:
            norms = [0.0]
            if self.opt.distributed:
                dist.barrier(self.listed)  # expect: TRL006
            print(norms)

    def named_group(self):
        if self.rank == 0:
            dist.barrier(self.named)  # expect: TRL006

    def counted_group(self):
        if self.rank == 0:
            dist.barrier(self.counted)  # expect: TRL006

    def group_of_torch(self):
        if self.rank == 0:
            dist.barrier(dist.group.WORLD)  # expect: TRL006

    def group_of_either_backend(self):
        if self.rank == 0:
            dist.gather_object(1, [], group=self.objects)  # expect: TRL006

    def group_of_some_or_all(self):
        if self.rank == 0:
            dist.gather_object(1, [], group=self.near)

    def met_by_all(self):
        if self.rank == 0:
            print("first")
            dist.barrier(self.whole)
        else:
            dist.barrier(self.whole)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % 8)
    job = Job(dist.get_rank(), dist.get_world_size())
    job.some_of_all()
    job.whole_group()
    job.listed_group()
    job.named_group()
    job.counted_group()
    job.group_of_torch()
    job.group_of_either_backend()
    job.group_of_some_or_all()
    job.met_by_all()


if __name__ == "__main__":
    main()
