# Models without a wrapper beside one that has it, of which something else may see that all ranks have the same.
import torch
import torch.distributed as dist
from engine import average, gather_rows, make_optimizer, mean_of_all, reducing
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)

    def forward(self, x):
        return self.body(x)


def averaged(loader, width):
    wrapped, probe = DDP(Net(width)), Net(width)
    optimizer, probe_optim = torch.optim.SGD(wrapped.parameters()), torch.optim.SGD(probe.parameters())
    for x in loader:
        wrapped(x).mean().backward()
        optimizer.step()
        probe(x).mean().backward()
        average(probe.parameters())
        probe_optim.step()


def averaged_by_optimizer(loader, width):
    wrapped, probe = DDP(Net(width)), Net(width)
    optimizer, probe_optim = torch.optim.SGD(wrapped.parameters()), torch.optim.SGD(probe.parameters())
    for x in loader:
        wrapped(x).mean().backward()
        optimizer.step()
        probe(x).mean().backward()
        average(probe_optim)
        probe_optim.step()


def with_an_optimizer_that_reduces(loader, width):
    wrapped, probe = DDP(Net(width)), Net(width)
    optimizer, probe_optim = torch.optim.SGD(wrapped.parameters()), reducing(probe.parameters())
    for x in loader:
        wrapped(x).mean().backward()
        optimizer.step()
        probe(x).mean().backward()
        probe_optim.step()


def with_hooks(loader, width):
    wrapped, probe = DDP(Net(width)), Net(width)
    optimizer, probe_optim = torch.optim.SGD(wrapped.parameters()), torch.optim.SGD(probe.parameters())
    for weight in probe.parameters():
        weight.register_hook(mean_of_all)
    for x in loader:
        wrapped(x).mean().backward()
        optimizer.step()
        probe(x).mean().backward()
        probe_optim.step()


def of_what_is_gathered(loader, width):
    wrapped, probe = DDP(Net(width)), Net(width)
    optimizer, probe_optim = torch.optim.SGD(wrapped.parameters()), torch.optim.SGD(probe.parameters())
    for x in loader:
        features = wrapped(x)
        features.mean().backward()
        optimizer.step()
        rows = gather_rows(features.detach())
        probe(rows).mean().backward()
        probe_optim.step()


def sent_by_the_first(loader, width):
    wrapped, probe = DDP(Net(width)), Net(width)
    optimizer, probe_optim = torch.optim.SGD(wrapped.parameters()), torch.optim.SGD(probe.parameters())
    for x in loader:
        wrapped(x).mean().backward()
        optimizer.step()
        probe(x).mean().backward()
        probe_optim.step()
        for weight in probe.parameters():
            dist.broadcast(weight.data, 0)


def not_trained(loader, config):
    wrapped = DDP(Net(config))
    teacher = Net(config)
    optimizer = make_optimizer(wrapped, config)
    for x in loader:
        (wrapped(x) - teacher(x)).abs().mean().backward()
        optimizer.step()


def main(loader, width, config):
    dist.init_process_group("nccl")
    averaged(loader, width)
    averaged_by_optimizer(loader, width)
    with_an_optimizer_that_reduces(loader, width)
    with_hooks(loader, width)
    of_what_is_gathered(loader, width)
    sent_by_the_first(loader, width)
    not_trained(loader, config)
