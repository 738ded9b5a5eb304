# Attributes that are set on the wrapper by their names, by a loop, a helper of the project, or through `__dict__`.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

EXPORTED = ("names", "stride")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.names, self.stride = ["a", "b"], 8
        self.layer = nn.Linear(8, 2)

    def forward(self, rows):
        return self.layer(rows)


def copy_attributes(to, source, include=()):
    for name in include:
        setattr(to, name, getattr(source, name))


def attach(target, **attributes):
    for name, value in attributes.items():
        setattr(target, name, value)
    return target


def replaced(model):
    for name in dir(model):
        if isinstance(getattr(model, name), nn.BatchNorm1d):
            setattr(model, name, nn.Identity())


def describe(model, source):
    setattr(source, "model", model)  # noqa: B010


def in_a_loop(net, gpu):
    model = DDP(net, device_ids=[gpu])
    for name in EXPORTED:
        setattr(model, name, getattr(net, name))
    return model


def by_a_helper(net, gpu):
    model = DDP(net, device_ids=[gpu])
    copy_attributes(model, source=net, include=EXPORTED)
    return model


def attached(net, gpu):
    model = DDP(net, device_ids=[gpu])
    return attach(model, stride=net.stride)


def of_its_dict(net, gpu):
    model = DDP(net, device_ids=[gpu])
    model.__dict__.update(stride=8)
    return model


def another_one(net, gpu):
    model = DDP(net, device_ids=[gpu])
    setattr(model, "names", net.names)  # noqa: B010
    describe(model, net)
    return model


def with_what_it_has(net, gpu):
    model = DDP(net, device_ids=[gpu])
    replaced(model)
    return model


def main():
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    first = in_a_loop(Net().cuda(), gpu)
    print(first(torch.ones(first.stride, 8)))
    second = by_a_helper(Net().cuda(), gpu)
    print(second(torch.ones(second.stride, 8)))
    third = attached(Net().cuda(), gpu)
    print(third(torch.ones(third.stride, 8)))
    fourth = of_its_dict(Net().cuda(), gpu)
    print(fourth(torch.ones(fourth.stride, 8)))
    fifth = another_one(Net().cuda(), gpu)
    print(fifth(torch.ones(fifth.stride, 8)), fifth.names)  # expect: TRL002
    sixth = with_what_it_has(Net().cuda(), gpu)
    print(sixth(torch.ones(sixth.stride, 8)))  # expect: TRL002


if __name__ == "__main__":
    main()
