# What asks for the process group after all ranks have ended it finds none, and gathers nothing.
import os

import torch
import torch.distributed as dist


def start():
    if "LOCAL_RANK" in os.environ:
        dist.init_process_group("nccl")
        return int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
    return 0, 1


def evaluate(rows):
    found = [len(each) for each in rows]
    if dist.is_initialized():
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, found)
    return found


def evaluate_early(rows):
    total = torch.tensor(float(len(rows)), device="cuda")
    if not (dist.is_available() and dist.is_initialized()):
        return total
    dist.all_reduce(total)
    return total


def through_another(rows):
    return evaluate(rows)


def stop():
    if not dist.is_initialized():
        return
    dist.destroy_process_group()


def on_one_afterwards(rows):
    rank, world_size = start()
    is_distributed = world_size > 1
    if is_distributed:
        dist.destroy_process_group()
    if rank == 0:
        evaluate(rows)
        evaluate_early(rows)
        through_another(rows)


def on_one_after_a_helper(rows):
    rank, _ = start()
    stop()
    if rank == 0:
        evaluate(rows)


def on_one_here(rank):
    if dist.is_initialized():
        dist.destroy_process_group()
    if rank == 0 and dist.is_initialized():
        dist.barrier()


def on_one_before(rows):
    rank, world_size = start()
    is_distributed = world_size > 1
    if rank == 0:
        evaluate(rows)  # expect: TRL006
    if is_distributed:
        dist.destroy_process_group()


def on_one_through_another(rows):
    rank, _ = start()
    if rank == 0:
        through_another(rows)  # expect: TRL006
    stop()


def on_one_of_another_group(rows):
    rank, world_size = start()
    if world_size > 1:
        dist.destroy_process_group()
    dist.init_process_group("gloo")
    if rank == 0:
        evaluate(rows)  # expect: TRL006


def on_one_if_it_is_wanted(rows, args):
    rank, _ = start()
    if args.stop_early:
        dist.destroy_process_group()
    if rank == 0:
        evaluate(rows)  # expect: TRL006


def on_one_where_others_are_left(rows):
    rank, world_size = start()
    for _ in range(world_size - 1):
        dist.destroy_process_group()
    if rank == 0:
        evaluate(rows)  # expect: TRL006


def on_one_beside_another_group(rows, halves):
    rank, _ = start()
    dist.destroy_process_group(halves)
    if rank == 0:
        evaluate(rows)  # expect: TRL006


def on_one_after_the_group_by_its_name(rows):
    rank, _ = start()
    dist.destroy_process_group(dist.group.WORLD)
    if rank == 0:
        evaluate(rows)
