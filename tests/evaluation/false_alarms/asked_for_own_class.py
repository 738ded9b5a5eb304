# No wrapper is an object of a class that the project defines, also where a helper asks for it.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size, self.depth = 3, 1
        self.layer = nn.Linear(3, 3)

    def forward(self, rows):
        return self.layer(rows)


class Warping:
    def warp(self, rows):
        return rows * 2


class WarpingNet(Warping, Net):
    pass


def warps(model):
    return isinstance(model, Warping) or isinstance(model, WarpingNet)  # noqa: SIM101


def is_network(model):
    return isinstance(model, nn.Module)


class Sampler:
    def __init__(self, model):
        self.model = DDP(model.cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])

    def sample(self):
        rows = torch.zeros(2, 3)
        if warps(self.model):
            rows = self.model.warp(rows)
        if isinstance(self.model, (Net, Warping)):
            print(self.model.size)
        if is_network(self.model):
            print(self.model.size)  # expect: TRL002
        return self.model(rows)

    def sample_otherwise(self):
        if not warps(self.model):
            print(self.model.depth)  # expect: TRL002


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    sampler = Sampler(WarpingNet())
    sampler.sample()
    sampler.sample_otherwise()


if __name__ == "__main__":
    main()
