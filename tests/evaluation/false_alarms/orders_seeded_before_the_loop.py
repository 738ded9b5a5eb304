# A loader asks its sampler for the order when the loop begins: the program has seeded by then.
import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Sampler


class Drawn(Sampler):
    def __init__(self, rows):
        self.rows, self.rank, self.size = rows, dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        order = torch.randperm(len(self.rows)).tolist()
        return iter(order[self.rank :: self.size])


def main(rows):
    dist.init_process_group("nccl")
    loader = DataLoader(rows, sampler=Drawn(rows))
    torch.manual_seed(0)
    for batch in loader:
        print(batch)
    os.makedirs("out")  # expect: TRL008


main(list(range(10)))
