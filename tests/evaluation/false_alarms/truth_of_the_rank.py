# The number of the first rank is false, whatever else is asked; `is not None` asks for a job of several processes.
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def wrap(net, rank, policy):
    if rank and policy:
        net = FSDP(net.to(rank), auto_wrap_policy=policy, sync_module_states=True)  # expect: TRL006
    return net


def wrap_all(net, rank, policy):
    if rank is not None and policy:
        net = FSDP(net.to(rank), auto_wrap_policy=policy, sync_module_states=True)
    return net


def wait(rank, ready):
    if ready and rank:
        dist.barrier()  # expect: TRL006


def wait_either(rank, ready):
    if ready or rank:
        dist.barrier()


def load(cfg, rank, waits):
    if rank and waits:
        dist.barrier()
    rows = cfg.read()
    if not rank and waits:
        dist.barrier()
    return rows


def load_by_number(cfg, rank, waits):
    if rank and waits:
        dist.barrier()
    rows = cfg.read()
    if waits and rank == 0:
        dist.barrier()
    return rows


def load_by_truth(cfg, rank, waits):
    if waits and rank != 0:
        dist.barrier()
    rows = cfg.read()
    if waits and not rank:
        dist.barrier()
    return rows


def load_on_first(cfg, rank, waits):
    rows = cfg.read()
    if waits and not rank:
        dist.barrier()  # expect: TRL006
    return rows


def main(net, cfg, policy, waits):
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    for each in (wrap(net, rank, policy), wrap_all(net, rank, policy)):
        each.train()
    wait(rank, waits)
    wait_either(rank, waits)
    load(cfg, rank, waits)
    load_by_number(cfg, rank, waits)
    load_by_truth(cfg, rank, waits)
    load_on_first(cfg, rank, waits)
