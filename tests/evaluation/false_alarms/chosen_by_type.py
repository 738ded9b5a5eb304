# A function that has another body for wrapped models.
import os
from functools import singledispatch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@singledispatch
def bare(model):
    return model


@bare.register
def _(model: DistributedDataParallel):
    return model.module


def same(model):
    return model


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 3
        self.layer = nn.Linear(3, 3)

    def forward(self, rows):
        return self.layer(rows)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(Net().cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
    model(torch.ones(2, bare(model).size, device="cuda")).mean().backward()
    print(same(model).size)  # expect: TRL002


if __name__ == "__main__":
    main()
