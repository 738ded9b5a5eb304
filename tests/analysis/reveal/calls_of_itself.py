"""A function that calls itself returns there what it returns where it does not call itself."""

import torch
from torch.utils.data import DataLoader, DistributedSampler


def move(value, device):
    if torch.is_tensor(value):
        return value.to(device)
    if isinstance(value, dict):
        return {key: move(each, device) for key, each in value.items()}
    return value


def moved_last(value, device):
    if isinstance(value, dict):
        return {key: moved_last(each, device) for key, each in value.items()}
    if isinstance(value, list):
        return [moved_last(each, device) for each in value]
    return value.to(device)


def factorial(number):
    if number <= 1:
        return 1
    return number * factorial(number - 1)


def never(number):
    return never(number - 1)


def main(rows):
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        reveal_rank(move(batch, "cuda")["x"])  # revealed: local(data)
        reveal_rank(moved_last(batch, "cuda")["x"])  # revealed: local(data)
    reveal_rank(factorial(4))  # revealed: same
    reveal_rank(never(4))  # revealed: bottom


main([])
