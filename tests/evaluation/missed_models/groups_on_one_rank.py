# One rank of all is no group: what it calls in one, it waits for. A rank of a group may be the first of several.
import os

import torch
import torch.distributed as dist
from engine import group_with_servers
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("data", "tensor"))
local_rank = int(os.environ["LOCAL_RANK"])
leaders = mesh["data"].get_group()


def is_main_process():
    return dist.get_rank() == 0


def mean(value, part):
    total = torch.as_tensor(value, device="cuda").clone()
    dist.all_reduce(total, op=dist.ReduceOp.AVG, group=part.get_group())
    return total.item()


def logged(loss, writer, step):
    rank = dist.get_rank()
    if rank == 0 and step % 10 == 0:
        writer.add_scalar("loss", mean(loss, mesh["data"]), step)  # expect: TRL006


def logged_by_main(loss, writer):
    if is_main_process():
        writer.add_scalar("loss", mean(loss, mesh["data"]), 0)  # expect: TRL006


def left_by_others(loss):
    rank = int(os.environ["RANK"])
    if rank != 0:
        return None  # expect: TRL006
    return mean(loss, mesh["tensor"])


def of_first_columns(loss):
    if mesh["tensor"].get_local_rank() == 0:
        return mean(loss, mesh["data"])
    return None


def of_machines(loss):
    if local_rank == 0:
        dist.all_reduce(loss, group=leaders)


def of_both(loss):
    rank = dist.get_rank()
    if rank == 0:
        dist.broadcast(loss, src=0, group=leaders)
    elif rank == 4:
        dist.broadcast(loss, src=0, group=leaders)


def of_either(loss):
    rank = dist.get_rank()
    if rank == 0 or rank == 4:
        dist.all_reduce(loss, group=leaders)


def of_members(loss):
    if dist.get_rank() in (0, 4):
        dist.all_reduce(loss, group=leaders)


def first_of_its_group(loss, group, others):
    place = dist.get_rank(group)
    if place == 0:
        dist.all_reduce(loss, group=others)


def of_both_one_after_the_other(loss):
    rank = dist.get_rank()
    if rank == 0:
        dist.broadcast(loss, src=0, group=leaders)
    if rank == 4:
        dist.broadcast(loss, src=0, group=leaders)


def of_both_inside(loss):
    rank = dist.get_rank()
    if rank != 4:
        if rank == 0:
            dist.broadcast(loss, src=0, group=leaders)
    else:
        dist.broadcast(loss, src=0, group=leaders)


def of_the_trainer_and_servers(loss, group):
    if dist.get_rank() == 0:
        dist.broadcast(loss, src=0, group=group)


def of_some(loss):
    group = dist.new_group([0])
    if dist.get_rank() == 0:
        dist.broadcast(loss, src=0, group=group)


def main(loss, writer, servers):
    for step in range(100):
        logged(loss, writer, step)
    logged_by_main(loss, writer)
    left_by_others(loss)
    of_first_columns(loss)
    of_machines(loss)
    of_both(loss)
    of_either(loss)
    of_members(loss)
    first_of_its_group(loss, mesh["data"].get_group(), mesh["tensor"].get_group())
    of_both_one_after_the_other(loss)
    of_both_inside(loss)
    of_the_trainer_and_servers(loss, servers)
    of_some(loss)


main(torch.ones(1, device="cuda"), None, group_with_servers())
