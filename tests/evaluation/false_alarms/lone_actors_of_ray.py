"""An actor of Ray that is made once is one process, whatever a loader of its would do in a process group.

Those that are made in a loop, by a function that is called in one, or by code which gets their class, may be several,
and so may one that starts a group.
"""

import ray
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def loader_of(rows):
    sampler = DistributedSampler(rows) if dist.is_initialized() else None
    return DataLoader(rows, sampler=sampler, batch_size=8)


def mean_length(loader):
    lengths = []
    for batch in loader:
        lengths.extend(len(each) for each in batch)
    return sum(lengths) / len(lengths)


@ray.remote
class Trainer:
    def __init__(self, rows):
        self.loader = loader_of(rows)
        self.writer = SummaryWriter("runs")

    def evaluate(self, step):
        self.writer.add_scalar("eval/length", mean_length(self.loader), step)


@ray.remote(num_gpus=1)
class Worker:
    def __init__(self, rows):
        self.loader = loader_of(rows)
        self.writer = SummaryWriter("runs")

    def evaluate(self, step):
        self.writer.add_scalar("eval/length", mean_length(self.loader), step)  # expect: TRL003


@ray.remote(num_gpus=1)
class Handed:
    def __init__(self, rows):
        self.loader = loader_of(rows)
        self.writer = SummaryWriter("runs")

    def evaluate(self, step):
        self.writer.add_scalar("eval/length", mean_length(self.loader), step)  # expect: TRL003


@ray.remote(num_gpus=1)
class OfEachRank:
    def __init__(self, rows):
        self.loader = loader_of(rows)
        self.writer = SummaryWriter("runs")

    def evaluate(self, step):
        self.writer.add_scalar("eval/length", mean_length(self.loader), step)  # expect: TRL003


@ray.remote(num_gpus=1)
class Mapped:
    def __init__(self, rows):
        self.loader = loader_of(rows)
        self.writer = SummaryWriter("runs")

    def evaluate(self, step):
        self.writer.add_scalar("eval/length", mean_length(self.loader), step)  # expect: TRL003


@ray.remote(num_gpus=1)
class Joining:
    def __init__(self, rows, rank):
        dist.init_process_group("nccl", rank=rank, world_size=2)
        self.loader = loader_of(rows)
        self.writer = SummaryWriter(f"runs/{rank}")

    def evaluate(self, step):
        self.writer.add_scalar("eval/length", mean_length(self.loader), step)  # expect: TRL003


def several(cls, rows):
    return [cls.remote(rows) for _ in range(8)]


def of_one_rank(rows):
    return OfEachRank.remote(rows)


def mapped(rows):
    return Mapped.remote(rows)


def lone(rows):
    return Trainer.options(num_cpus=1).remote(rows)


def main(rows):
    ray.init()
    of_all = [of_one_rank(rows) for _ in range(8)]
    ray.get([each.evaluate.remote(0) for each in (*of_all, *map(mapped, [rows] * 8))])
    workers = [Worker.remote(rows) for _ in range(8)]
    joining = Joining.remote(rows, 1)
    trainer = lone(rows)
    for step in range(10):
        ray.get(trainer.evaluate.remote(step))
        ray.get([each.evaluate.remote(step) for each in (*workers, *several(Handed, rows), joining)])


if __name__ == "__main__":
    main(list(range(100)))
