# FSDP broadcasts the states of one rank where it wraps a model, if it is told to: all ranks of its group have to.
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def wrap_on_one(net, rank):
    if rank == 0:
        net = FSDP(net.to(rank), sync_module_states=True)  # expect: TRL006
    return net


def wrap_members(net, rank, members):
    if rank > 0:
        net = FSDP(net.to(rank), process_group=members, sync_module_states=True)
    return net


def wrap_on_all(net, rank, sharded):
    if sharded and rank is not None:
        net = FSDP(net.to(rank), sync_module_states=True)
    return net


def main(net, members, sharded):
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    return wrap_on_one(net, rank), wrap_members(net, rank, members), wrap_on_all(net, rank, sharded)
