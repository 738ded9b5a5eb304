# What is iterated over, or indexed, is a wrapper, which fails; its elements are no wrapped models beside that.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


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


main([0, 1])
