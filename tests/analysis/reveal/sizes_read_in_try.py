"""Where several processes run, a launcher has set their number: reading it in a `try` does not fail."""

import os

import torch.distributed as dist


def read():
    size = os.environ.get("WORLD_SIZE", "1") or "1"
    try:
        size = int(size)
    except ValueError:
        size = 1
    return int(os.environ.get("RANK", 0)), max(1, size)


def main(loss, args):
    dist.init_process_group("gloo")
    rank, size = read()
    reveal_rank(rank)  # revealed: local(rank)
    if size > 1:
        reveal_rank(loss)  # revealed: unknown
    else:
        reveal_rank(loss)  # revealed: never

    try:
        count = int(os.environ["WORLD_SIZE"])
    except KeyError:
        count = 1
    if count == 1:
        reveal_rank(loss)  # revealed: never

    try:
        number, count = int(os.environ["RANK"]), int(os.getenv("WORLD_SIZE"))
    except (KeyError, TypeError):
        number, count = 0, 1
    reveal_rank(number)  # revealed: local(rank)
    if count == 1:
        reveal_rank(loss)  # revealed: never

    # What a launcher does not set may be missing, or no number.
    try:
        jobs = int(os.environ["JOBS"])
    except KeyError:
        jobs = 1
    if jobs == 1:
        reveal_rank(loss)  # revealed: unknown
    try:
        total = int(args.size)
    except ValueError:
        total = 1
        reveal_rank(loss)  # revealed: unknown
    # It may be the number of processes, or more.
    if max(64, count) == 64:
        reveal_rank(loss)  # revealed: unknown


main(load(), parse())
