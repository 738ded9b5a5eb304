# What trains may be called by what a loop calls, or be a method of what `self` holds, beside a teacher.
import os

import torch
import torch.distributed as dist
from mine import network, rows
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Engine:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters())

    def update(self, batch, wanted):
        loss = (self.model(batch) - wanted).pow(2).mean()
        self._descend(loss)
        return loss

    def _descend(self, loss):
        loss.backward()
        self.optimizer.step()


def descend(loss, optimizer):
    loss.backward()
    optimizer.step()


def update(loss, optimizer):
    descend(loss, optimizer)


class Run:
    def __init__(self, model):
        self.engine = Engine(model)
        self.step = 0

    def train(self, teacher, loader):
        total = 0
        for batch in loader:
            with torch.no_grad():
                wanted = teacher(batch)
            total += self.engine.update(batch, wanted).item()
            self.step += 1
        if dist.get_rank() == 0:
            print(f"loss {total / len(loader):.3f}")


def train(model, teacher, optimizer, loader):
    total = 0
    for step, batch in enumerate(loader):
        with torch.no_grad():
            wanted = teacher(batch)
        loss = (model(batch) - wanted).pow(2).mean()
        update(loss, optimizer)
        total += loss.item()
        if step % 10 == 0:
            print(step)
    if dist.get_rank() == 0:
        print(f"loss {total / len(loader):.3f}")


def evaluate(model, teacher, loader):
    total = 0
    for step, batch in enumerate(loader):
        with torch.no_grad():
            wanted = teacher(batch)
            loss = (model(batch) - wanted).pow(2).mean()
        total += loss.item()
        if step % 10 == 0:
            print(step)
    if dist.get_rank() == 0:
        print(f"loss {total / len(loader):.3f}")  # expect: TRL003


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
loader = DataLoader(rows, sampler=DistributedSampler(rows))
model = DistributedDataParallel(network().cuda())
Run(model).train(network(), loader)
train(model, network(), torch.optim.SGD(model.parameters()), loader)
evaluate(model, network(), loader)
