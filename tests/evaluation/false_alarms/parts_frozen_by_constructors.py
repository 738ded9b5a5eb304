"""A part of a model that a constructor freezes needs no wrapper, however it is reached; other parts do."""

import torch
from accelerate import Accelerator
from torch import nn


class Recommender(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.meanings = nn.Embedding(size, 16)
        self.meanings.requires_grad_(False)
        self.names = nn.Embedding(size, 16)
        self.users = nn.Embedding(size, 16)
        self.tower = nn.ModuleDict({"low": nn.Linear(16, 16), "high": nn.Linear(16, size)})
        self.tower["low"].requires_grad_(False)
        self.thawed = nn.Linear(16, 16)
        self.thawed.requires_grad_(False)

    def forward(self, ids):
        return self.tower["high"](self.tower["low"](self.names(ids) + self.meanings(ids)))


class Trainer:
    def __init__(self, model, loader, freezes_users):
        self.accelerator = Accelerator()
        self.model = model
        self.scale = nn.Parameter(torch.ones(16))
        self.freeze()
        if freezes_users:
            self.model.users.requires_grad_(False)
        self.optimizer = torch.optim.AdamW(each for each in model.parameters() if each.requires_grad)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(self.model, self.optimizer, loader)

    def freeze(self):
        for each in self.model.names.parameters():
            each.requires_grad = False

    def thaw(self):
        self.model.module.thawed.requires_grad_(True)

    def loss_of_meanings(self, ids):
        meanings = self.model.module.meanings
        return self.head(meanings(ids)).mean()

    def loss_of_names(self, ids):
        names = self.model.module.names if self.accelerator.num_processes > 1 else self.model.names
        return self.head(names(ids)).mean() + self.head(self.model.module.names(ids)).mean()

    def loss_of_users(self, ids):
        users = self.model.module.users
        return self.head(users(ids)).mean()  # expect: TRL009

    def loss_of_tower(self, ids):
        tower = self.model.module.tower["high"]
        return tower(ids).mean()  # expect: TRL009

    def loss_of_thawed(self, ids):
        thawed = self.model.module.thawed
        return thawed(ids).mean()  # expect: TRL009

    def head(self, features):
        return torch.relu(features) * self.scale

    def train(self, part):
        for ids in self.loader:
            if part == "meanings":
                loss = self.loss_of_meanings(ids)
            elif part == "names":
                loss = self.loss_of_names(ids)
            elif part == "users":
                loss = self.loss_of_users(ids)
            elif part == "tower":
                loss = self.loss_of_tower(ids)
            else:
                loss = self.loss_of_thawed(ids)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()


def main(part, freezes_users):
    Trainer(Recommender(100), [], freezes_users).train(part)
