# What is iterated over, or indexed, is a wrapper, which fails; its elements are no wrapped models beside that.
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

ARGUMENTS = argparse.ArgumentParser()
for option in ("--nodes", "--gpus"):
    ARGUMENTS.add_argument(option, type=int)
ARGUMENTS.add_argument("--begins", action="store_true")


class Net(torch.nn.Sequential):
    def begin(self, device):
        self.device = device


def main(devices):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(Net(torch.nn.Linear(8, 8)).cuda())
    for each, device in zip(model, devices, strict=False):  # expect: TRL002
        each.begin(device)
    for index, each in enumerate(model):  # expect: TRL002
        each.begin(index)
    for each in model:  # expect: TRL002
        each.begin(0)
    model[0].begin(0)  # expect: TRL002
    for each, device in zip([model], devices, strict=False):
        each.begin(device)  # expect: TRL002
    for each, device in zip(model.module, devices, strict=False):
        each.begin(device)


def sampled(devices, options):
    """Wrapped on one way: its elements are those of the other."""
    model = Net(torch.nn.Linear(8, 8))
    if options.nodes > 1:
        model = DistributedDataParallel(model)
    elif options.gpus > 1:
        model = torch.nn.DataParallel(model)
    if options.begins:
        for each, device in zip(model, devices, strict=False):  # expect: TRL002
            each.begin(device)
        for each in model:  # expect: TRL002
            each.begin(0)
    model.begin(0)  # expect: TRL002


main([0, 1])
sampled([0, 1], ARGUMENTS.parse_args())
