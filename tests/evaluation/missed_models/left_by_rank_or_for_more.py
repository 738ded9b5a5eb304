# `if rank != 0 or skips(step): return` sends all ranks but the first away, whatever `skips` says: who goes on is alone.
# What stands under such a condition may be reached by all ranks.
import torch.distributed as dist
from elsewhere import reduced, skips


def reduced_by_the_first(losses, step):
    if dist.get_rank() != 0 or skips(step):
        return  # expect: TRL006
    dist.all_reduce(losses)
    print(losses)


def in_a_loop(loader, step):
    for losses in loader:
        if not skips(step) or dist.get_rank() > 0:
            continue  # expect: TRL006
        dist.all_reduce(losses)


def reduced_by_all(losses, step):
    dist.all_reduce(losses)
    if dist.get_rank() != 0 or skips(step):
        return
    print(losses)


def skipped_by_all(losses, step):
    if dist.get_world_size() == 1 or skips(step):
        return
    dist.all_reduce(losses)


def all_wait_where_one_skips(losses, step):
    if dist.get_rank() == 0 or skips(step):
        dist.barrier()
        return
    losses = reduced(losses)


def agreed_elsewhere(losses, step, engine):
    if engine.alone or skips(step):
        return
    dist.all_reduce(losses)
