# A number of steps that a trainer keeps as a buffer: the loop up to it is the same on all ranks.
import torch
from accelerate import Accelerator
from torch import nn


class Trainer(nn.Module):
    def __init__(self, net, optimizer, loader, last):
        super().__init__()
        self.accelerator = Accelerator()
        self.last = last
        self.register_buffer("steps", torch.tensor(0))
        self.net, self.optimizer, self.loader = self.accelerator.prepare(net, optimizer, loader)

    @property
    def is_main(self):
        return self.accelerator.is_main_process

    def load(self, path):
        state = torch.load(path)
        self.steps.fill_(state["steps"])

    def step(self):
        loss = self.net(next(self.rows)).mean()
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.accelerator.wait_for_everyone()
        self.steps += 1

    def forward(self):
        self.rows = iter(self.loader)
        while self.steps < self.last:
            self.step()


def trains_on_one(net, optimizer, loader):
    trainer = Trainer(net, optimizer, loader, 9)
    if trainer.is_main:
        trainer()  # expect: TRL006


def trains_on_all(net, optimizer, loader):
    trainer = Trainer(net, optimizer, loader, 9)
    if trainer.is_main:
        print(trainer.steps)
    trainer()
