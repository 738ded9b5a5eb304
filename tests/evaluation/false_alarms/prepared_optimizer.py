# A module without a forward that holds an optimizer is no model: it is not wrapped.
import torch
from accelerate import Accelerator
from torch import nn


class Stepping(nn.Module):
    def __init__(self, accelerator, optimizer):
        super().__init__()
        self.optimizer = accelerator.prepare(optimizer)

    def step(self):
        self.optimizer.step()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, rows):
        return [("main", self.layer(rows).sum()), ("other", self.layer(rows).mean())]

    def reset(self):
        self.layer.reset_parameters()


class Training:
    def __init__(self, net: Net, loader):
        self.accelerator = Accelerator()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        self.net = Net()
        self.optim = Stepping(self.accelerator, optimizer)
        (self.net, self.optim, self.loader) = self.accelerator.prepare(self.net, self.optim, loader)

    def train(self):
        for batch in self.loader:
            for _, loss in self.net(batch["rows"]):
                self.accelerator.backward(loss, retain_graph=True)
            self.optim.step()
        self.net.reset()  # expect: TRL002


def by_function(loader):
    accelerator = Accelerator()
    net, loader = accelerator.prepare(Net(), loader)
    stepping = Stepping(accelerator, torch.optim.SGD(net.parameters(), lr=0.1))
    stepping = accelerator.prepare(stepping)
    for batch in loader:
        losses = net(batch["rows"])
        for index in range(len(losses)):
            accelerator.backward(losses[index][1], retain_graph=True)
        stepping.step()
