# What a method of a base has left in the objects of one heir is not in those of another.
import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Evaluation:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.total = 0
        self.rank = dist.get_rank()

    def run(self):
        for batch in self.loader:
            self.total += self.model(batch).item()
        self.show()

    def show(self):
        if self.rank == 0:
            wandb.log({"loss": self.total})


class OfShare(Evaluation):
    def __init__(self, model, rows):
        super().__init__(model, DataLoader(rows, sampler=DistributedSampler(rows)))

    def show(self):
        total = torch.tensor(self.total).cuda()
        dist.all_reduce(total)
        self.total = total.item()
        super().show()


class OfAllRows(Evaluation):
    def __init__(self, model, rows):
        super().__init__(model, DataLoader(rows))


class Unreduced(Evaluation):
    def __init__(self, model, rows):
        super().__init__(model, DataLoader(rows, sampler=DistributedSampler(rows)))

    def show(self):
        if self.rank == 0:
            wandb.log({"loss": self.total})  # expect: TRL003


def main(rows, model):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(model.cuda())
    for batch in DataLoader(rows, 8, sampler=DistributedSampler(rows)):
        model(batch).backward()
    OfShare(model, rows).run()
    OfAllRows(model, rows).run()
    Unreduced(model, rows).run()
