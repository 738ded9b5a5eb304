# One model or a list of models: a test of the exact type tells them apart, as isinstance does.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, rows):
        return self.layer(rows)


def unless_a_list(models, rows):
    if type(models) != list:  # noqa: E721
        return models(rows)
    return models[0](rows)


def if_a_list(models, rows):
    if type(models) is list:
        return models[0](rows)
    return models(rows)


def if_a_sequence(models, rows):
    if type(models) in (list, tuple):
        return models[0](rows)
    return models(rows)


def by_its_class(models, rows):
    if models.__class__ is not list:
        return models(rows)
    return models[0](rows)


def if_a_module(models, rows):
    if isinstance(models, nn.Module):
        return models(rows)
    return models[0](rows)


def if_wrapped(models, rows):
    if type(models) is not DistributedDataParallel:
        return models(rows)
    return models[0](rows)  # expect: TRL002


def unless_a_module(models, rows):
    if not isinstance(models, nn.Module):
        return models(rows)
    return models[0](rows)  # expect: TRL002


def unless_of_two_types(models, rows):
    if type(models) in (list, Net):
        return models(rows)
    return models[0](rows)  # expect: TRL002


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(Net().cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
    rows = torch.ones(2, 3, device="cuda")
    for forward in (unless_a_list, if_a_list, if_a_sequence, by_its_class, if_a_module):
        forward(model, rows).mean().backward()
    for forward in (if_wrapped, unless_a_module, unless_of_two_types):
        forward(model, rows).mean().backward()


if __name__ == "__main__":
    main()
