"""A function that a notebook calls without a rank has rank 0: the code for other ranks does not run there."""

import json

from accelerate import Accelerator


def save(settings):
    with open("settings.json", "w") as file:
        json.dump(settings, file)


def save_too(settings):
    with open("others.json", "w") as file:  # expect: TRL008
        json.dump(settings, file)


def train(settings, rank=None):
    accelerator = Accelerator()
    if settings.sharded and not settings.adapters and rank == 0:
        save(settings)
    if rank != 0:
        save_too(settings)
    return accelerator


train({}, None)
