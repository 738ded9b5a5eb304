# A loader asks a stream of the project for its rows, in each process: each rank takes its share of another order.
import random

import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset


class Lines(IterableDataset):
    def __init__(self, files, epoch=0):
        self.files, self.epoch = files, epoch
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        order = list(self.files)
        random.shuffle(order)  # expect: TRL015
        for path in order[self.rank :: self.size]:
            yield from open(path)


class OfWorkers(Lines):
    def __iter__(self):
        order = list(self.files)
        random.shuffle(order)
        for path in order[self.rank :: self.size]:
            yield from open(path)


class Seeded(Lines):
    def __iter__(self):
        order = list(self.files)
        random.Random(self.epoch).shuffle(order)
        for path in order[self.rank :: self.size]:
            yield from open(path)


def main(files):
    dist.init_process_group("nccl")
    lines = DataLoader(Lines(files), batch_size=4)
    of_workers = DataLoader(OfWorkers(files), batch_size=4, num_workers=2)
    seeded = DataLoader(Seeded(files), batch_size=4)
    print([*lines, *of_workers, *seeded])


main(["a", "b"])
