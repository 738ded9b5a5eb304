# A set-up function returns 0, 0, 1 where no launcher is found: its number of processes is above one on several.
import os

import torch
import torch.distributed as dist
import wandb
from somewhere import build, rows, several
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def set_up():
    if "RANK" in os.environ:
        dist.init_process_group("nccl")
        return dist.get_rank(), int(os.environ["LOCAL_RANK"]), dist.get_world_size()
    return 0, 0, 1


def set_up_or_leave():
    if "RANK" not in os.environ:
        return 0, 1
    dist.init_process_group("nccl")
    return dist.get_rank(), dist.get_world_size()


def stops_together(epochs):
    rank, local, world = set_up()
    model = DistributedDataParallel(build(), device_ids=[local])
    for _ in range(epochs):
        flag = torch.zeros(1, device="cuda")
        if rank == 0:
            flag.fill_(1.0)
        if world > 1:
            dist.broadcast(flag, src=0)
        if flag.item():
            break
        model(rows()).mean().backward()
        dist.barrier()


def stops_apart(epochs):
    rank, local, world = set_up()
    model = DistributedDataParallel(build(), device_ids=[local])
    for _ in range(epochs):
        flag = torch.zeros(1, device="cuda")
        if rank == 0:
            flag.fill_(1.0)
        if world == 1:
            dist.broadcast(flag, src=0)
        if flag.item():
            break  # expect: TRL006
        model(rows()).mean().backward()
        dist.barrier()


def logs():
    rank, world = set_up_or_leave()
    model = DistributedDataParallel(build())
    for batch in DataLoader(rows(), sampler=DistributedSampler(rows())):
        loss = model(batch).mean()
        loss.backward()
        mean, own = loss.detach().clone(), loss.detach().clone()
        if world > 1:
            dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        if several.chosen and rank > 0:
            own.zero_()
        if rank == 0:
            wandb.log({"mean": mean.item()})
            wandb.log({"own": own.item()})  # expect: TRL003


stops_together(3)
stops_apart(3)
logs()
