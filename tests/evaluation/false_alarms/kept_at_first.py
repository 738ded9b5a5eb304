# What keeps the results of a function has none before its first call, which runs the body. If it is called from one
# place only, that is the first call; from other places, all ranks may have called it before.
import json
from functools import cache, lru_cache

import torch
import torch.distributed as dist


@lru_cache(maxsize=1)
def total():
    count = torch.ones(1).cuda()
    dist.all_reduce(count)
    return count.item()


@lru_cache
def size():
    count = torch.ones(1).cuda()
    dist.all_reduce(count)
    return count.item()


@cache
def settled():
    count = torch.ones(1).cuda()
    dist.all_reduce(count)
    return count.item()


@cache
def noted(name):
    with open("names.json", "w") as file:  # expect: TRL008
        json.dump(name, file)
    return len(name)


def kept_on_disk(function):
    return lambda: json.load(open("kept.json")) or function()


def cached(function):
    return kept_on_disk(function)


@cached
def counted():
    count = torch.ones(1).cuda()
    dist.all_reduce(count)
    return count.item()


def described():
    return f"{settled()} ranks"


def main(names):
    dist.init_process_group("nccl")
    every = size() + len(described())
    lengths = [noted(name) for name in names]
    if dist.get_rank() == 0:
        print(size(), described(), counted(), every, lengths)
    if dist.get_rank() == 0:
        print(total())  # expect: TRL006


main(["a", "b"])
