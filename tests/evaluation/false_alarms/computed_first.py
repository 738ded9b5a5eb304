# The first rank computes the data set, the others read its file: the same call again, or a decorator that orders them.
import contextlib
import functools

import torch.distributed as dist
from accelerate import Accelerator
from datasets import load_dataset


@contextlib.contextmanager
def first_rank_first():
    is_first = dist.get_rank() == 0
    if not is_first:
        dist.barrier()
    yield
    if is_first:
        dist.barrier()


@contextlib.contextmanager
def announced():
    print("starts")
    yield
    print("ends")


def in_order(function):
    @functools.wraps(function)
    def inner(*args):
        with first_rank_first():
            return function(*args)

    return inner


def aloud(function):
    @functools.wraps(function)
    def inner(*args):
        with announced():
            return function(*args)

    return inner


def main_process_first(function):
    @functools.wraps(function)
    def inner(accelerator, *args):
        with accelerator.main_process_first():
            return function(*args)

    return inner


def accumulating(function):
    @functools.wraps(function)
    def inner(accelerator, *args):
        with accelerator.accumulate():
            return function(*args)

    return inner


@main_process_first
def ordered_by_library(path, encode):
    return load_dataset("json", data_files=path, split="train").map(encode)


@accumulating
def not_ordered_by_library(path, encode):
    return load_dataset("json", data_files=path, split="train").map(encode)  # expect: TRL012


@in_order
def ordered(path, encode):
    return load_dataset("json", data_files=path, split="train").map(encode)


@aloud
def at_once(path, encode):
    return load_dataset("json", data_files=path, split="train").map(encode)  # expect: TRL012


def encoded(path, encode):
    return load_dataset("json", data_files=path, split="train").map(encode)


def other(path, encode):
    return load_dataset("json", data_files=path, split="train").map(encode)  # expect: TRL012


def apart(path, encode):
    return _through(path, encode)


def _through(path, encode):
    return load_dataset("json", data_files=path, split="train").filter(encode)


def main(path, encode):
    dist.init_process_group("nccl")
    accelerator = Accelerator()
    ordered_by_library(accelerator, path, encode)
    not_ordered_by_library(accelerator, path, encode)
    ordered(path, encode)
    at_once(path, encode)
    if dist.get_rank() == 0:
        encoded(path, encode)
        other("first.json", encode)
        apart(path, encode)
    dist.barrier()
    encoded(path, encode)
    other("second.json", encode)
    apart(path, encode)
