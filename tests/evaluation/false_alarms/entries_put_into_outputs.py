# A model's outputs kept by an object, with an entry that all ranks count alike beside those that are a rank's own.
import torch
from accelerate import Accelerator
from torch import nn

accelerator = Accelerator()
STEPS = 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, rows):
        return {"logits": self.layer(rows)}


class Environment:
    def __init__(self, loader):
        self.net, self.loader = accelerator.prepare(Net(), loader)

    def reset(self, rows):
        self.state = self.net(rows)
        self.state["round"] = torch.zeros((len(rows),), dtype=torch.long)
        self.state["best"] = self.state["logits"].max()

    def step(self, rows):
        self.state.update(self.net(rows))
        self.state["round"] = self.state["round"] + 1
        self.state["best"] = self.state["logits"].max()


def all_rounds(loader):
    environment = Environment(loader)
    agent = accelerator.prepare(nn.Linear(3, 3))
    for rows in environment.loader:
        environment.reset(rows)
        while True:
            agent(rows).mean().backward()
            environment.step(rows)
            if environment.state["round"][0].item() == STEPS:
                break


def until_good(loader):
    environment = Environment(loader)
    agent = accelerator.prepare(nn.Linear(3, 3))
    for rows in environment.loader:
        environment.reset(rows)
        while True:
            agent(rows).mean().backward()
            environment.step(rows)
            if environment.state["best"].item() > STEPS:
                break  # expect: TRL006
