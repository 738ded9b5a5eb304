# Ranks that take another branch by their number, and set a number to the same there, leave a loop together.
import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--profile", action="store_true")
parser.add_argument("--trace", action="store_true")
parser.add_argument("--wait", type=int)
parser.add_argument("--active", type=int)


def is_main():
    return dist.get_rank() == 0


def train(loader, device):
    args = parser.parse_args()
    dist.init_process_group("nccl")
    wait, active = max(0, args.wait), max(1, args.active)
    total = 0
    profiling = args.profile and device.type == "cuda" and is_main()
    if profiling:
        print("profiling")
        total = wait + active
    elif args.profile and device.type == "cuda" and not is_main():
        total = wait + active
    for turn in range(100):
        if args.profile and total > 0 and turn + 1 >= total:
            dist.barrier()
            break
    dist.barrier()


def train_one_or_other(loader):
    args = parser.parse_args()
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        print("first")
        total = args.wait + args.active
    else:
        total = args.wait + args.active
    for turn in range(100):
        if turn >= total:
            break
        dist.barrier()
    dist.barrier()


def train_by_another_option(loader):
    args = parser.parse_args()
    dist.init_process_group("nccl")
    total = 0
    if args.profile and is_main():
        total = args.wait + args.active
    elif args.trace and not is_main():
        print("other")
        total = args.wait + args.active
    if total > 0:
        dist.barrier()  # expect: TRL006


def train_with_another_number(loader):
    args = parser.parse_args()
    dist.init_process_group("nccl")
    total = 0
    if args.profile and is_main():
        total = args.wait + args.active
    elif args.profile and not is_main():
        total = args.active
    if total > 0:
        dist.barrier()  # expect: TRL006


def train_with_a_number_of_its_own(loader):
    args = parser.parse_args()
    dist.init_process_group("nccl")
    active = args.active
    if is_main():
        active = 0
        total = args.wait + active
    else:
        total = args.wait + active
    if total > 0:
        dist.barrier()  # expect: TRL006


def train_with_the_rank(loader):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    if rank == 0:
        print("first")
        total = rank
    else:
        total = rank
    if total > 0:
        dist.barrier()  # expect: TRL006


def train_on_one(loader):
    args = parser.parse_args()
    dist.init_process_group("nccl")
    total = 0
    if args.profile and is_main():
        total = args.wait + args.active
    elif args.profile and is_main():
        print("never")
        total = args.wait + args.active
    if total > 0:
        dist.barrier()  # expect: TRL006


def train_after_a_change(loader):
    args = parser.parse_args()
    dist.init_process_group("nccl")
    total = 0
    profiling = args.profile and is_main()
    args.profile = args.trace
    if profiling:
        print("first")
        total = args.wait + args.active
    elif args.profile and not is_main():
        total = args.wait + args.active
    if total > 0:
        dist.barrier()  # expect: TRL006


if __name__ == "__main__":
    train([], torch.device("cuda"))
    train_one_or_other([])
    train_by_another_option([])
    train_with_another_number([])
    train_with_a_number_of_its_own([])
    train_with_the_rank([])
    train_on_one([])
    train_after_a_change([])
