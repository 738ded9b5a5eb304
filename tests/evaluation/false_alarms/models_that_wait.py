# A method of a model, or its forward, waits for all ranks if there is a collective in it or in a part of the model: one
# rank alone must not call it. What it does in training only, or without other ranks, is no such call in an evaluation.

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def everyones(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.cat(parts)


class Contrast(nn.Module):
    def forward(self, z):
        return (z @ everyones(z).T).mean()


class OwnContrast(nn.Module):
    def forward(self, z):
        return (z @ z.T).mean()


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("used", torch.zeros(512))

    def forward(self, x):
        if self.training:
            dist.all_reduce(self.used)
        return x

    @torch.no_grad()
    def restart(self):
        dist.all_reduce(self.used)
        self.used.zero_()

    def shown(self):
        return self.used.sum().item()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 8)
        self.codes = Codes()

    def forward(self, x):
        return self.codes(self.encoder(x))

    def restart_codes(self):
        self.codes.restart()

    def shown_codes(self):
        return self.codes.shown()

    def norm(self):
        total = self.encoder.weight.norm()
        if dist.is_initialized():
            dist.all_reduce(total)
        return total.item()


def by_all(net, loader, rank):
    contrast = Contrast()
    for i, x in enumerate(loader):
        z = net(x.cuda())
        contrast(z).backward()
        norm = net.module.norm()
        if i % 100 == 0:
            net.module.restart_codes()
        if rank == 0:
            print(norm, net.module.shown_codes(), OwnContrast()(z))


def evaluated_by_main(net, x, rank):
    net.eval()
    if rank == 0:
        with torch.no_grad():
            print(net.module(x.cuda()).mean())


def by_main(net, x, rank):
    contrast = Contrast()
    z = net(x.cuda())
    if rank == 0:
        print(contrast(z))  # expect: TRL006
    if rank == 0:
        print(net.module.norm())  # expect: TRL006
    if rank == 0:
        net.module.restart_codes()  # expect: TRL006


def main(data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    rank = dist.get_rank()
    net = DistributedDataParallel(Net().cuda())
    loader = DataLoader(data, sampler=DistributedSampler(data))
    by_all(net, loader, rank)
    evaluated_by_main(net, next(iter(loader)), rank)
    by_main(net, next(iter(loader)), rank)


main(torch.load("data.pt"))
