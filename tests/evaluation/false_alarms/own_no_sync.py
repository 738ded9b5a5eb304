# Contexts of the project with the name of DDP's: what they do is known from their code alone.
from contextlib import contextmanager, nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Engine:
    def __init__(self, net):
        self.model = DDP(net)

    @contextmanager
    def no_sync(self):
        """No copies between streams."""
        yield

    def no_backward_sync(self, model):
        return nullcontext()


class Wrapper:
    def __init__(self, net):
        self.model = DDP(net)

    def no_sync(self):
        return self.model.no_sync()


class Net(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    @contextmanager
    def no_sync(self):
        yield

    def forward(self, x):
        return self.net(x)


def of_engine(loader, net):
    engine = Engine(net)
    optimizer = torch.optim.SGD(engine.model.parameters(), lr=0.1)
    for x in loader:
        with engine.no_sync():
            engine.model(x).sum().backward()
        optimizer.step()
        with engine.no_backward_sync(engine.model):
            engine.model(x).sum().backward()
        optimizer.step()


def of_wrapper(loader, net):
    wrapper = Wrapper(net)
    optimizer = torch.optim.SGD(wrapper.model.parameters(), lr=0.1)
    for x in loader:
        with wrapper.no_sync():  # expect: TRL009
            wrapper.model(x).sum().backward()
        optimizer.step()


def of_net(loader, net):
    model = Net(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        optimizer.step()


def main(loader, net):
    dist.init_process_group("nccl")
    of_engine(loader, net)
    of_wrapper(loader, net)
    of_net(loader, net)
