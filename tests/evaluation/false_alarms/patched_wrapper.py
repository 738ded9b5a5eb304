# The project replaces the `__getattr__` of DistributedDataParallel by one that forwards attributes to the module.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def forward_attribute(self, name):
    try:
        return nn.Module.__getattr__(self, name)
    except AttributeError:
        return getattr(nn.Module.__getattr__(self, "module"), name)


DistributedDataParallel.__getattr__ = forward_attribute


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
    model(torch.ones(2, model.size, device="cuda")).mean().backward()
    if dist.get_rank() == 0:
        print(model.layer.weight.sum())
    if dist.get_rank() == 0:
        dist.barrier()  # expect: TRL006


if __name__ == "__main__":
    main()
