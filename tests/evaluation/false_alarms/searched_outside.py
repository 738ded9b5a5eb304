# A module is frozen as a whole before each batch, and what is searched lies outside of it: no gradient is reduced.
import time

import torch
from lightning.pytorch import LightningModule, Trainer
from somewhere import make_policy, rows
from torch import nn


class Base(LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.policy = make_policy()

    def configure_optimizers(self, parameters=None):
        if parameters is None:
            parameters = self.parameters()
        return torch.optim.Adam(parameters)


class Search(Base):
    def on_train_batch_start(self, batch, index):
        for param in self.policy.parameters():
            param.requires_grad = False

    def training_step(self, batch, index):
        searched = [nn.Parameter(self.policy.table(batch))]
        self.configure_optimizers(searched)
        start = time.time()
        for _ in range(100):
            self.manual_backward(self.policy(batch, searched[0]).sum())
            if time.time() - start > 60:
                break


class Tuned(Base):
    def training_step(self, batch, index):
        self.configure_optimizers(self.policy.parameters())
        start = time.time()
        for _ in range(100):
            self.manual_backward(self.policy(batch).sum())
            if time.time() - start > 60:
                break  # expect: TRL006


class WithHead(Base):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)

    def on_train_batch_start(self, batch, index):
        self.policy.requires_grad_(False)

    def training_step(self, batch, index):
        extra = [nn.Parameter(self.policy.table(batch))]
        self.configure_optimizers(extra)
        start = time.time()
        for _ in range(100):
            self.manual_backward(self.head(self.policy(batch, extra[0])).sum())
            if time.time() - start > 60:
                break  # expect: TRL006


if __name__ == "__main__":
    trainer = Trainer(devices=2, strategy="ddp")
    for made in (Search(), Tuned(), WithHead()):
        trainer.fit(made, rows())
