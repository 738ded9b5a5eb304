"""Callables with some arguments bound before."""

from functools import partial

import torch
import torch.multiprocessing as mp
from accelerate import Accelerator
from tqdm import tqdm

accelerator = Accelerator()
bar = partial(tqdm, dynamic_ncols=True)


def scaled(value, by, *, shift=0):
    reveal_rank(by)  # revealed: same | unknown
    return value * by + shift


double = partial(scaled, by=2)
shifted = partial(double, shift=1)
fixed = partial(scaled, torch.ones(2))


def loop(model, loader, unknown):
    model, loader = accelerator.prepare(model, loader)
    for batch in bar(loader):
        reveal_rank(batch)  # revealed: shard
        reveal_rank(double(batch["x"]))  # revealed: shard
        reveal_rank(shifted(batch["x"].sum(), shift=0))  # revealed: partial(sum)
        reveal_rank(fixed(3))  # revealed: same
        reveal_rank(partial(accelerator.gather, batch["x"])())  # revealed: same
        reveal_rank(partial(unknown, 1)(batch))  # revealed: unknown
        made = double
        for _ in range(3):
            made = partial(made, shift=batch["x"])
        reveal_rank(made(unknown))  # revealed: unknown


def worker(rank, size):
    reveal_rank(rank)  # revealed: local(rank)
    reveal_rank(size)  # revealed: same


mp.spawn(worker, args=(2,), nprocs=2)
