# The ranks that do not wait at the start of a block wait at its end.
import contextlib
import os

import torch.distributed as dist
from transformers import AutoTokenizer


class MainFirst:
    def __init__(self, rank):
        self.rank = rank

    def __enter__(self):
        if self.rank != 0:
            dist.barrier()

    def __exit__(self, *args):
        if self.rank == 0:
            dist.barrier()


class NodeFirst:
    def __init__(self, local_rank):
        self.local_rank = local_rank

    def __enter__(self):
        if self.local_rank != 0:
            dist.barrier()

    def __exit__(self, *args):
        if self.local_rank == 0:
            dist.barrier()


class NeverReleased:
    def __init__(self, local_rank):
        self.local_rank = local_rank

    def __enter__(self):
        if self.local_rank != 0:
            dist.barrier()  # expect: TRL006

    def __exit__(self, *args):
        print("done")


class LocalMainFirst:
    def __init__(self):
        self.is_first = dist.get_rank() == 0

    def __enter__(self):
        if not self.is_first:
            dist.barrier()
        return self

    def __exit__(self, kind, error, trace):
        if self.is_first:
            dist.barrier()


@contextlib.contextmanager
def first(rank):
    if rank not in (-1, 0):
        dist.barrier()
    yield
    if rank == 0:
        dist.barrier()


def prepare(args):
    if args.rank not in [-1, 0]:
        dist.barrier()
    tokenizer = AutoTokenizer.from_pretrained("tiny")
    if args.rank == 0:
        dist.barrier()
    return tokenizer


def prepare_alone(args):
    if args.rank not in [-1, 0]:
        return dist.barrier()  # expect: TRL006


def make_folder(args):
    if args.local_rank in [-1, 0]:
        os.makedirs(args.folder, exist_ok=True)
    else:
        dist.barrier()
        print("others")
    if args.local_rank == 0:
        dist.barrier()


def make_folder_by_one_test(folder):
    if dist.get_rank() == 0:
        os.makedirs(folder, exist_ok=True)
    else:
        dist.barrier()
    if dist.get_rank() == 0:
        dist.barrier()


def make_folder_and_hang(folder):
    if dist.get_rank() == 0:
        os.makedirs(folder, exist_ok=True)
    else:
        dist.barrier()  # expect: TRL006
    if dist.get_rank() != 0:
        dist.barrier()  # expect: TRL006


class NobodyFollows:
    def __enter__(self):
        if dist.get_rank() == 0:
            dist.barrier()  # expect: TRL006

    def __exit__(self, kind, error, trace):
        return False


def load(path):
    with NodeFirst(int(os.environ["LOCAL_RANK"])):
        return open(path).read()


def load_each(paths):
    for path in paths:
        with NeverReleased(int(os.environ["LOCAL_RANK"])):
            return open(path).read()


def main():
    dist.init_process_group("nccl")
    with MainFirst(dist.get_rank()):
        tokenizer = AutoTokenizer.from_pretrained("tiny")
    with LocalMainFirst():
        tokenizer = AutoTokenizer.from_pretrained("tiny")
    with first(dist.get_rank()):
        tokenizer = AutoTokenizer.from_pretrained("tiny")
    with NobodyFollows():
        return tokenizer


main()
