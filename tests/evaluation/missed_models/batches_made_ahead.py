import torch
import torch.distributed as dist
from prefetch_generator import BackgroundGenerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class AheadLoader(DataLoader):
    def __iter__(self):
        return BackgroundGenerator(super().__iter__())


class Texts:
    def __init__(self, rows, others):
        self.rows = rows
        self.others = others

    def loaders(self, distributed):
        if distributed:
            loader = AheadLoader(self.rows, batch_size=8, sampler=DistributedSampler(self.rows))
        else:
            loader = AheadLoader(self.rows, batch_size=8, shuffle=True)
        return loader, AheadLoader(self.others, sampler=DistributedSampler(self.others, shuffle=False))


def train(model, optimizer, loader, in_order):
    for _ in range(10):  # expect: TRL019
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
    for _ in range(10):
        for batch in in_order:
            model(batch).sum().backward()
            optimizer.step()


def main(rows, others, distributed):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters())
    loader, in_order = Texts(rows, others).loaders(distributed)
    train(model, optimizer, loader, in_order)
