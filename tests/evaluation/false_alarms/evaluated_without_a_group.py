# What asks for a process group that the program never starts finds none: each process evaluates all rows, unwrapped.
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

logger = logging.getLogger(__name__)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, rows):
        return self.head(rows)


def create(data):
    sampler = DistributedSampler(data) if dist.is_available() and dist.is_initialized() else None
    return DataLoader(data, batch_size=4, sampler=sampler)


def wrapped(model):
    if dist.is_available() and dist.is_initialized():
        return DistributedDataParallel(model)
    return nn.DataParallel(model)


def evaluate(model, loader):
    total = 0.0
    for rows in loader:
        total += model(rows).mean().item()
    logger.info(f"loss {total / len(loader.dataset)}")


if __name__ == "__main__":
    model = wrapped(Net())
    evaluate(model, create(torch.zeros(8, 4)))
    print(model.head)  # expect: TRL002
