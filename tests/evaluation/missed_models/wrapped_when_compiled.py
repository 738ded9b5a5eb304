# What is passed to the wrapper through a function or a method that returns the model is inside it, by its own name.
import torch
import torch.distributed as dist
from somewhere import load, other
from torch.nn.parallel import DistributedDataParallel as DDP


def compiled(rows):
    dist.init_process_group("nccl")
    raw = torch.nn.Linear(8, 8)
    net = DDP(torch.compile(raw))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x in rows:
        raw(x).mean().backward()  # expect: TRL009
        optimizer.step()


def compiled_before(rows):
    dist.init_process_group("nccl")
    raw = load()
    fast = torch.compile(raw, mode="max-autotune")
    net = DDP(fast, device_ids=[0])
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x in rows:
        raw(x).mean().backward()  # expect: TRL009
        optimizer.step()


def moved(rows):
    dist.init_process_group("nccl")
    raw = torch.nn.Linear(8, 8)
    net = DDP(torch.nn.SyncBatchNorm.convert_sync_batchnorm(raw.cuda()))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x in rows:
        raw(x).mean().backward()  # expect: TRL009
        optimizer.step()


class Trains:
    def __init__(self):
        self.raw = torch.nn.Linear(8, 8)
        self.net = DDP(torch.compile(self.raw))

    def train(self, rows):
        optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
        for x in rows:
            self.raw(x).mean().backward()  # expect: TRL009
            optimizer.step()


def by_the_wrapper(rows):
    dist.init_process_group("nccl")
    raw = torch.nn.Linear(8, 8)
    net = DDP(torch.compile(raw.cuda()))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x in rows:
        net(x).mean().backward()
        optimizer.step()
    with torch.no_grad():
        print(raw(rows[0]).mean())


def of_another(rows):
    dist.init_process_group("nccl")
    raw = torch.nn.Linear(8, 8)
    net = DDP(other(raw))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x in rows:
        (net(x).mean() + raw(x).mean()).backward()
        optimizer.step()


def replaced(rows):
    dist.init_process_group("nccl")
    raw = torch.nn.Linear(8, 8)
    net = DDP(torch.compile(raw))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    raw = net
    for x in rows:
        raw(x).mean().backward()
        optimizer.step()


def under_its_own_name(rows):
    dist.init_process_group("nccl")
    raw = net = torch.nn.Linear(8, 8)
    net = net.cuda()
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x in rows:
        (net(x).mean() + raw(x).std()).backward()
        optimizer.step()


def in_a_circle(net):
    net = net.cuda()
    first = torch.compile(second)
    second = torch.compile(first)
    return DDP(net), DDP(second)
