"""Ranks that leave a loop in its last turn leave it with the others, unless these meet behind them in that turn."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
RANK = dist.get_rank()


def train(model, rows, args):
    for epoch in range(args.epochs):
        model(rows).sum().backward()
        dist.barrier()
        if (epoch >= args.epochs - 1) and RANK == 0:
            torch.save(rows, "last.pt")
            break
    dist.barrier()


def train_as_numbered(count):
    for epoch in range(count):
        dist.barrier()
        if RANK == 0:
            print(epoch)
            if epoch + 1 == count:
                break
    for epoch in range(count):
        dist.barrier()
        if not epoch < count - 1:
            print(epoch)
            if RANK == 0:
                break
    dist.barrier()


def returns(count):
    for epoch in range(count):
        dist.barrier()
        if epoch >= count - 1 and RANK == 0:
            return  # expect: TRL006
    dist.barrier()


def meets_behind(count):
    for epoch in range(count):
        if epoch == count - 1 and RANK == 0:
            break  # expect: TRL006
        dist.barrier()


def meets_in_else(count):
    for epoch in range(count):
        dist.barrier()
        if epoch == count - 1 and RANK == 0:
            break  # expect: TRL006
    else:
        dist.barrier()


def starts_later(count, start):
    for epoch in range(start, start + count):
        dist.barrier()
        if epoch >= count - 1 and RANK == 0:
            break  # expect: TRL006


def has_other_bound(count, limit):
    for epoch in range(count):
        dist.barrier()
        if epoch >= limit - 1 and RANK == 0:
            break  # expect: TRL006


def has_two_turns_left(count):
    for epoch in range(count):
        dist.barrier()
        if epoch >= count - 2 and RANK == 0:
            break  # expect: TRL006
    for epoch in range(count):
        dist.barrier()
        if epoch != count - 2 and RANK == 0:
            break  # expect: TRL006
    for epoch in range(count):
        dist.barrier()
        if epoch < count and RANK == 0:
            break  # expect: TRL006


def has_bound_that_changes(count):
    for epoch in range(count):
        dist.barrier()
        if epoch >= count - 1 and RANK == 0:
            break  # expect: TRL006
        count -= 1


def counts_by_hand(count):
    epoch = 0
    while epoch < count:
        dist.barrier()
        if epoch >= count - 1 and RANK == 0:
            break  # expect: TRL006
        epoch += 0 if dist.is_initialized() else 1


def leaves_an_inner_loop(count, parts):
    for epoch in range(count):
        for _ in range(parts):
            dist.barrier()
            if epoch >= count - 1 and RANK == 0:
                break  # expect: TRL006


for call in (train_as_numbered, returns, meets_behind, meets_in_else, has_two_turns_left, has_bound_that_changes):
    call(3)
