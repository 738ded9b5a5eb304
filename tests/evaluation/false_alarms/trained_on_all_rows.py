"""A loader without a sampler, and one seed for all ranks: each rank trains on the same batches, with the same loss."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter


class Seeded:
    def __init__(self, args, rows, model):
        torch.manual_seed(args.seed)
        self.loader = DataLoader(rows, shuffle=True, batch_size=8)
        self.model = DistributedDataParallel(model)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.writer = SummaryWriter("runs/seeded") if dist.get_rank() == 0 else None

    def train(self):
        for epoch in range(3):
            for x, y in self.loader:
                self.step(x, y)
            if self.writer is not None:
                self.writer.add_scalar("epoch/loss", self.last_loss, epoch)

    def step(self, x, y):
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        self.last_loss = loss.item()
        loss.backward()
        self.optimizer.step()


class Passed:
    def __init__(self, args, loader, model):
        self.loader = loader
        self.model = DistributedDataParallel(model)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.writer = SummaryWriter("runs/passed") if dist.get_rank() == 0 else None

    def train(self):
        for epoch in range(3):
            for x, y in self.loader:
                self.step(x, y)
            if self.writer is not None:
                self.writer.add_scalar("epoch/loss", self.last_loss, epoch)  # expect: TRL003

    def step(self, x, y):
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        self.last_loss = loss.item()
        loss.backward()
        self.optimizer.step()


def main(args, rows, loader, model):
    dist.init_process_group("nccl")
    Seeded(args, rows, model).train()
    Passed(args, loader, model).train()
