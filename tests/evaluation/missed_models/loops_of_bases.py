"""Training loops of base classes: what an heir returns, stores and wraps is known in the methods that it inherits."""

import os
from abc import ABC, abstractmethod

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class AcceleratedTrainer(ABC):
    def __init__(self, config):
        self.config = config
        self.accelerator = Accelerator(log_with="wandb")
        self.init_model()
        self.prepare()
        self.step = 0

    @abstractmethod
    def init_model(self): ...

    @abstractmethod
    def losses(self, batch): ...

    def prepare(self):
        self.model, self.optimizer, self.loader = self.accelerator.prepare(self.model, self.optimizer, self.loader)

    def on_epoch_end(self, losses):
        pass

    def train(self):
        for batch in self.loader:
            losses = self.losses(batch)
            self.accelerator.backward(sum(losses.values()))
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.step += 1
        self.report({name: self.accelerator.gather(value).mean().item() for name, value in losses.items()})
        self.on_epoch_end(losses)
        self.save()

    def report(self, metrics):
        self.accelerator.log(metrics, step=self.step)

    def save(self):
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            torch.save(self.accelerator.unwrap_model(self.model).state_dict(), "model.pt")


class RightTrainer(AcceleratedTrainer):
    def init_model(self):
        self.model = Network(self.config.width)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.loader = DataLoader(torch.load(self.config.data), shuffle=True)

    def losses(self, batch):
        return {"loss": self.model(batch).mean()}


class WrongTrainer(RightTrainer):
    def losses(self, batch):
        if self.accelerator.is_main_process:
            print("width", self.model.width)  # expect: TRL002
        return {"loss": self.accelerator.unwrap_model(self.model)(batch).mean()}  # expect: TRL009

    def on_epoch_end(self, losses):
        self.report({"last": losses["loss"].item()})  # expect: TRL003
        if losses["loss"] < self.config.limit:
            self.save()  # expect: TRL006


class Network(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.body = nn.Linear(width, 1)

    def forward(self, rows):
        return self.body(rows)


class Runner:
    """Concrete; what it runs on is stored by the constructor of the heir."""

    def run(self, epochs):
        for epoch in range(epochs):
            self.loader.sampler.set_epoch(epoch)
            for batch in self.loader:
                loss = self.loss_of(batch)
                loss.backward()
                self.optimizer.step()
            metrics = self.validate()
            if metrics["loss"] < self.best:
                self.best = metrics["loss"]
                self.save()

    def loss_of(self, batch):
        return self.model(batch).mean()

    def save(self):
        if dist.get_rank() == 0:
            torch.save(self.model.module.state_dict(), os.path.join(self.folder, "best.pt"))
        dist.barrier()


class RightRunner(Runner):
    def __init__(self, folder, device):
        self.folder, self.best = folder, float("inf")
        self.model = DistributedDataParallel(nn.Linear(8, 1).to(device), device_ids=[device])
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        rows = torch.load(folder)
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows))

    def validate(self):
        loss = sum(self.loss_of(batch) for batch in self.loader).detach() / len(self.loader)
        dist.all_reduce(loss, op=dist.ReduceOp.AVG)
        return {"loss": loss.item()}


class WrongRunner(RightRunner):
    def loss_of(self, batch):
        return self.model.module(batch).mean()  # expect: TRL009


class LoopMixin:
    def fit(self):
        for batch in self.loader:
            loss = self.loss_of(batch)
            if loss.isnan():
                continue  # expect: TRL006
            self.accelerator.backward(loss)
            self.optimizer.step()


class MixedTrainer(LoopMixin):
    def __init__(self, model, optimizer, loader):
        self.accelerator = Accelerator()
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

    def loss_of(self, batch):
        return self.model(**batch).loss


def main(config):
    RightTrainer(config).train()
    WrongTrainer(config).train()
    MixedTrainer(make_model(), make_optimizer(), make_loader()).fit()


def worker(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    device = rank % torch.cuda.device_count()
    RightRunner("rows", device).run(3)
    WrongRunner("rows", device).run(3)
