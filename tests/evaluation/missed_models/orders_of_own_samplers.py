# A loader asks a sampler of the project for the order, in each process: each rank cuts its share of another order.
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Sampler


class Drawn(Sampler):
    def __init__(self, rows):
        self.rows, self.rank, self.size = rows, dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        order = torch.randperm(len(self.rows)).tolist()  # expect: TRL015
        return iter(order[self.rank :: self.size])


class SeededByRank(Drawn):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(7 + self.rank)
        order = torch.randperm(len(self.rows), generator=generator).tolist()  # expect: TRL015
        return iter(order[self.rank :: self.size])


class CutAndListed(Drawn):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(7 + self.rank)
        order = torch.randperm(len(self.rows), generator=generator)  # expect: TRL015
        return iter(order[self.rank :: self.size].tolist())


class SeededAndListed(Drawn):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(7)
        order = torch.randperm(len(self.rows), generator=generator)
        return iter(order[self.rank :: self.size].tolist())


class Seeded(Drawn):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(7)
        order = torch.randperm(len(self.rows), generator=generator).tolist()
        return iter(order[self.rank :: self.size])


class ShortOnesFirst(Drawn):
    def __iter__(self):
        lengths = np.random.default_rng(0).integers(8, 512, len(self.rows))
        order = np.random.default_rng().permutation(np.argsort(lengths))  # expect: TRL015
        return iter(order[self.rank :: self.size].tolist())


def main(rows):
    dist.init_process_group("nccl")
    drawn = DataLoader(rows, sampler=Drawn(rows))
    by_rank = DataLoader(rows, sampler=SeededByRank(rows))
    seeded = DataLoader(rows, batch_sampler=Seeded(rows))
    listed = DataLoader(rows, sampler=CutAndListed(rows))
    alike = DataLoader(rows, sampler=SeededAndListed(rows))
    short = DataLoader(rows, sampler=ShortOnesFirst(rows))
    print([*short, *drawn, *by_rank, *seeded, *listed, *alike])


main(list(range(10)))
