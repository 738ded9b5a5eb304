# A flag that is False at first may be set under a key that is not known, or by a handler: what it guards does run.
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

NAMES = ("stop", "save")


def by_key(net, data):
    dist.init_process_group("nccl")
    net, flags = DDP(net), {"stop": False, "save": False}
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        net(batch).mean().backward()
        asked = torch.zeros(2, device="cuda")
        dist.all_reduce(asked)
        for name, value in zip(NAMES, asked.tolist(), strict=True):
            flags[name] = value > 0
        if flags["stop"]:
            if dist.get_rank() == 0:
                dist.barrier()  # expect: TRL006
            break


def by_one_of_two(net, data, key):
    dist.init_process_group("nccl")
    net, reduces = DDP(net), {"loss": None, "norm": None}
    reduces[key] = dist.all_reduce
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        net(batch).mean().backward()
        if reduces["loss"] is None:
            continue
        if dist.get_rank() == 0:
            dist.barrier()  # expect: TRL006


def by_handler(net, data):
    stop = False

    def handle(*_):
        nonlocal stop
        stop = True

    signal.signal(signal.SIGTERM, handle)
    dist.init_process_group("nccl")
    net = DDP(net)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        net(batch).mean().backward()
        if stop:
            if dist.get_rank() == 0:
                dist.barrier()  # expect: TRL006
            break
