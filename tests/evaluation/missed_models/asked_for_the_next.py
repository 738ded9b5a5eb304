# Batches of an object that has no `__iter__`, only `__next__`, as generators of patches have.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Patches:
    def __init__(self, rows, rank, size):
        self.rows, self.place = rows[rank::size], 0

    def __next__(self):
        self.place += 1
        return {"rows": self.rows[self.place], "size": 3}


class Training:
    def __init__(self, rows):
        self.model = DistributedDataParallel(nn.Linear(4, 4).cuda())
        self.patches = self.make(torch.tensor(rows))

    def make(self, rows):
        return Patches(rows, dist.get_rank(), dist.get_world_size())

    def step(self, batch):
        loss = self.model(batch["rows"]).mean()
        if loss > 100:
            return None  # expect: TRL006
        if batch["size"] > 100:
            return None
        loss.backward()
        return loss

    def run(self):
        for _ in range(100):
            self.step(next(self.patches))


def main(rows):
    dist.init_process_group("nccl")
    Training(rows).run()


main(list(range(10)))
