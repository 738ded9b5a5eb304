"""What an object writes to is None unless it is made with it, and nothing sets it after that."""

import torch.distributed as dist
import torch.nn.functional as F
import wandb
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Meters:
    def __init__(self, name, file=None, run=None):
        self.values = {}
        self.name = name
        self.file = file
        self.run = run

    def __getattr__(self, name):
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(name)

    def update(self, name, value):
        self.values[name] = value

    def dump(self, step):
        if self.file is None or dist.get_rank() != 0:
            return
        wandb.log(self.values, step=step)

    def show(self, step):
        if self.run is not None and dist.get_rank() == 0:
            wandb.log(self.values, step=step)


class Open:
    def __init__(self, file=None):
        self.file = file
        self.values = {}

    def open(self, file):
        self.file = file

    def dump(self, name, value):
        self.values[name] = value
        if self.file is not None and dist.get_rank() == 0:
            wandb.log(self.values)


def train(net, rows, optimizer):
    dist.init_process_group("nccl")
    model = DDP(net)
    silent, told, later = Meters("silent"), Meters("told", file="meters.json"), Open()
    later.open("meters.json")
    for step, (x, y) in enumerate(DataLoader(rows, sampler=DistributedSampler(rows))):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        silent.update("loss", loss.item())
        silent.dump(step)
        silent.show(step)
        told.update("loss", loss.item())  # expect: TRL003
        told.dump(step)
        later.dump("loss", loss.item())  # expect: TRL003
