"""Results that the main process has, or the only one, used where there is only one: all that get there have them."""

import os

import torch.distributed as dist


def evaluate(model, rows):
    return {"loss": model(rows)}


def shared(model, rows, is_distributed, is_main_process):
    found = None
    if (not is_distributed) or is_main_process:
        found = evaluate(model, rows)
    if is_distributed:
        dist.barrier()
        loss = 0.0
    else:
        loss = found["loss"]
    return loss


def of_several(model, rows, is_distributed, is_main_process):
    found = None
    if (not is_distributed) or is_main_process:
        found = evaluate(model, rows)
    if is_distributed:
        loss = found["loss"]  # expect: TRL017
    else:
        print("alone")
        loss = 0.0
    return loss


def after_both(model, rows, is_distributed, is_main_process):
    found = None
    if (not is_distributed) or is_main_process:
        found = evaluate(model, rows)
    if is_distributed:
        dist.barrier()
    return found["loss"]  # expect: TRL017


def main(model, rows):
    is_distributed, rank = False, 0
    if "WORLD_SIZE" in os.environ and int(os.environ["WORLD_SIZE"]) > 1:
        dist.init_process_group("nccl")
        is_distributed = True
        rank = dist.get_rank()
    shared(model, rows, is_distributed=is_distributed, is_main_process=rank == 0)
    of_several(model, rows, is_distributed=is_distributed, is_main_process=rank == 0)
    after_both(model, rows, is_distributed=is_distributed, is_main_process=rank == 0)
