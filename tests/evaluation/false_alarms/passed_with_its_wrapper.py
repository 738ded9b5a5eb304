"""A method of the module in the wrapper, whose result goes into a call together with the wrapper: that may run it."""

import torch
import torch.distributed as dist
from flows import Flow, find_network
from torch.nn.parallel import DistributedDataParallel as DDP


class Trains:
    def __init__(self, name, local_rank):
        self.network = DDP(find_network(name).to(local_rank), device_ids=[local_rank])
        self.optimizer = torch.optim.AdamW(self.network.parameters())
        self.flow = Flow()

    def loss_of(self, x, text):
        x = self.network.module.normalize(x)
        loss, t = self.flow.loss(self.network, x, text)
        return loss.mean(), t

    def train(self, loader):
        for x, text in loader:
            loss, _ = self.loss_of(x, text)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


class TrainsAlone(Trains):
    def loss_of(self, x, text):
        x = self.network.module.encode(x)  # expect: TRL009
        loss, t = self.flow.loss(x, text)
        self.flow.keep(self.network, loss)
        return loss.mean(), t

    def train(self, loader):
        for x, text in loader:
            loss, _ = self.loss_of(x, text)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main(name, loader, local_rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    Trains(name, local_rank).train(loader)
    TrainsAlone(name, local_rank).train(loader)
