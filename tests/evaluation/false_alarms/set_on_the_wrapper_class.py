# The project puts attributes on the class of a wrapper: all models in such a wrapper have them.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DataParallel
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 3
        self.depth = 1
        self.width = 3
        self.layer = nn.Linear(3, 3)

    def forward(self, rows):
        return self.layer(rows)


class Sampler:
    def __init__(self, model):
        self.model = model

    def sample(self):
        return self.model(torch.zeros(2, self.model.size)), self.model.depth  # expect: TRL002


def sample():
    sampler = Sampler(Net())
    model = DDP(Net().cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
    print(model.size)  # expect: TRL002
    type(model).size = property(lambda self: self.module.size)
    print(model.size)
    sampler.model = model
    return sampler.sample()


def by_name():
    model = DDP(Net().cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
    setattr(type(model), "width", property(lambda self: self.module.width))  # noqa: B010
    print(model.width)
    return report(model)


def report(model):
    return model.width, model.depth  # expect: TRL002


DDP.level = property(lambda self: self.module.level)
setattr(DDP, "layer", property(lambda self: self.module.layer))  # noqa: B010


def level():
    model = DDP(Net().cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
    return model.level, model.layer, hasattr(model, "level")


def level_in_one_process():
    return DataParallel(Net().cuda()).level  # expect: TRL002


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    sample()
    by_name()
    level()
    level_in_one_process()


if __name__ == "__main__":
    main()
