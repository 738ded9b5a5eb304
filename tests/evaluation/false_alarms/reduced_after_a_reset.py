# The constructor of a meter ends with a reset; a later method reduces what the meter has added up, in place.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Mean:
    def __init__(self, device):
        self.device = device
        self.total = torch.tensor(0.0, device=device)
        self.count = torch.tensor(0, device=device)
        self.reset()

    def reset(self):
        self.total = torch.tensor(0.0, device=self.device)
        self.count = torch.tensor(0, device=self.device)

    def update(self, value, rows=1):
        self.total += value * rows
        self.count += rows

    @property
    def value(self):
        return self.total / self.count

    def of_all(self):
        begun = [dist.all_reduce(self.total, async_op=True), dist.all_reduce(self.count, async_op=True)]
        for each in begun:
            each.wait()


class Patience:
    def __init__(self, patience=3):
        self.best = None
        self.stop = False
        self.left = self.patience = patience

    def __call__(self, score):
        if self.best is None or score < self.best:
            self.best, self.left = score, self.patience
        else:
            self.left -= 1
            self.stop = self.left <= 0


class Trainer:
    def __init__(self, dataset, validation):
        self.rank = dist.get_rank()
        self.loader = DataLoader(dataset, 16, sampler=DistributedSampler(dataset))
        self.validation = DataLoader(validation, 16, sampler=DistributedSampler(validation))
        self.model = DistributedDataParallel(nn.Linear(8, 3).cuda())
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.loss = Mean("cuda")
        self.accuracy = Mean("cuda")
        self.early = Mean("cuda")
        self.patience = Patience()
        self.writer = SummaryWriter() if self.rank == 0 else None

    def train(self, epoch):
        self.loss.reset()
        self.loader.sampler.set_epoch(epoch)
        for x, y in self.loader:
            loss = nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.loss.update(loss.item(), len(y))
        self.loss.of_all()

    def validate(self, epoch):
        self.accuracy.reset()
        self.early.reset()
        for x, y in self.validation:
            right = (self.model(x.cuda()).argmax(1) == y.cuda()).float().mean().item()
            self.accuracy.update(right, len(y))
            self.early.update(right, len(y))
        seen = self.early.value
        self.early.of_all()
        if self.rank == 0:
            self.writer.add_scalar("loss", self.loss.value, epoch)
            self.writer.add_scalar("accuracy", self.accuracy.value, epoch)  # expect: TRL003
            self.writer.add_scalar("seen", seen, epoch)  # expect: TRL003

    def run(self):
        for epoch in range(10):
            self.train(epoch)
            self.validate(epoch)
            self.patience(self.loss.value)
            if self.patience.stop:
                break


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    Trainer(torch.load("data.pt"), torch.load("validation.pt")).run()
