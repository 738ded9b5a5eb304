# Modules without parameters, which a method of the model runs, have nothing to train: they count, or compute a loss.
import torch
import torch.distributed as dist
from somewhere import rows
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Mean(nn.Module):
    def __init__(self, dim=-1, limit=0.5):
        super().__init__()
        self.register_buffer("total", torch.zeros(1))
        self.dim = dim
        self.limit = limit

    def forward(self, x):
        self.total += x.detach().mean(self.dim).clamp(max=self.limit)
        return self.total.cpu()


class Scale(nn.Module):
    def __init__(self, dim=-1):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.dim = dim

    def forward(self, x):
        return (self.scale * x).mean(self.dim)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.mean = Mean()
        self.scale = Scale()

    def update(self, losses):
        return float(self.mean(losses).numpy()[0])

    def scaled(self, losses):
        return self.scale(losses)

    def forward(self, x):
        return self.layer(x)


def train(args):
    net = Net()
    if args.several:
        model = DistributedDataParallel(net)
        inner = model.module
    else:
        model = inner = net
    optimizer = torch.optim.SGD(inner.parameters(), 0.1)
    for x, y in rows():
        optimizer.zero_grad()
        losses = (model(x) - y).abs()
        losses.mean().backward()
        optimizer.step()
        for _, loss in enumerate(losses):
            counted = inner.update(loss)
            print(counted)


def train_scaled():
    model = DistributedDataParallel(Net())
    inner = model.module
    optimizer = torch.optim.SGD(inner.parameters(), 0.1)
    for x in rows():
        inner.scaled(x).mean().backward()  # expect: TRL009
        optimizer.step()


def main(args):
    dist.init_process_group("nccl")
    train(args)
    train_scaled()
