"""Forward passes for a derivative along a direction: the function that is derived calls the module in the wrapper."""

from functools import partial

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Flow:
    def __init__(self, api):
        if api == "func":
            self.derive, self.more = torch.func.jvp, {}
        else:
            self.derive, self.more = torch.autograd.functional.jvp, {"create_graph": True}

    def loss(self, net, x, text, v):
        if isinstance(net, DDP):
            net = net.module
        aim = net(x, text).detach()
        part = partial(net, text=text)
        given = (lambda z: part(z), (x,), (v,))  # expect: TRL009
        u, du = self.derive(*given, **self.more)
        return ((u - (aim - du).detach()) ** 2).mean()

    def given_loss(self, net, x, v):
        u, du = torch.func.jvp(net.module, (x,), (v,))  # expect: TRL009
        return ((u - du.detach()) ** 2).mean()

    def reduced_loss(self, net, x, text, v):
        u, du = torch.func.jvp(lambda z: net(z, text), (x,), (v,))
        return ((u - du.detach()) ** 2).mean()

    def distance(self, net, x, text, v):
        if isinstance(net, DDP):
            net = net.module
        with torch.no_grad():
            u, du = torch.func.jvp(lambda z: net(z, text), (x,), (v,))
        return (u - du).mean()


def train(net, rows, device, flow):
    net = DDP(net.to(device), device_ids=[device])
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    sampler = DistributedSampler(rows)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, text in DataLoader(rows, sampler=sampler):
            v = torch.ones_like(x)
            optimizer.zero_grad()
            flow.loss(net, x, text, v).backward()
            optimizer.step()
            optimizer.zero_grad()
            flow.given_loss(net, x, v).backward()
            optimizer.step()
            optimizer.zero_grad()
            (flow.reduced_loss(net, x, text, v) + flow.distance(net, x, text, v)).backward()
            optimizer.step()


def main(net, rows, local_rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    train(net, rows, local_rank, Flow("func"))
