"""What a call of the inner module without inputs raises is caught: nothing is computed."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def freeze_norms(net):
    try:
        bare = net.module()
    except TypeError:
        bare = net
    for each in bare.modules():
        each.eval()
    return net


def main(rank, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    net = DDP(torch.nn.Linear(4, 4).cuda())
    net = freeze_norms(net)
    for x in data:
        net(x).sum().backward()
        try:
            net.module(x).sum().backward()  # expect: TRL009
        except TypeError as error:
            print(error)
