# A layer that only some methods use is used where code calls these, by name or for a name; what never runs is not.
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Scored(nn.Module):
    """Its score is asked for past the wrapper, and is part of the loss."""

    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, 1)
        if width > 8:
            self.scale = nn.Linear(width, width)
        else:
            self.scale = nn.Linear(width, width, bias=False)

    def forward(self, x):
        return self.scale(self.body(x))

    def score_of(self, x):
        return self.head(x)

    @torch.no_grad()
    def watch(self, x):
        return self.body(x).norm()


class Old(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Linear(width, width)
        self.left = nn.Linear(width, 1)  # expect: TRL031
        self.seen = nn.Linear(width, 1)  # expect: TRL031
        if width > 8:
            self.wide = nn.Linear(width, width)  # expect: TRL031
        else:
            self.wide = nn.Linear(width, 1)

    def forward(self, x):
        return self.trunk(x)

    def forward_of_last_year(self, x):
        return self.left(self.trunk(x))

    def look_at(self, x):
        with torch.no_grad():
            return self.seen(self.trunk(x))


def train(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        out = net(x)
        (out + net.module.score_of(out)).mean().backward()
        optimizer.step()
        net.module.watch(x)
        net.module.look_at(x)


def main(loader, rank):
    train(DDP(Scored(4).to(rank), device_ids=[rank]), loader)
    train(DDP(Old(4).to(rank), device_ids=[rank]), loader)
