# Whether the job has several processes is the same on all of them, wherever that is found out: a helper that asks for
# it waits for all ranks or for none.
import argparse
import os

import torch.distributed as dist


def start(args):
    args.distributed = False
    args.rank, args.world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if args.world_size > 1:
        dist.init_process_group("nccl")
        args.distributed = True


def shared(args, name):
    if not args.distributed:
        return name
    names = [name]
    dist.broadcast_object_list(names, src=0)
    return names[0]


def shared_if_chosen(args, name):
    if not args.chosen:
        return name  # expect: TRL006
    names = [name]
    dist.broadcast_object_list(names, src=0)
    return names[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name")
    args = parser.parse_args()
    start(args)
    args.chosen = args.rank == 0
    if args.rank == 0:
        args.name = shared(args, args.name)  # expect: TRL006
    if args.rank == 0 and not args.distributed:
        args.name = shared(args, args.name)
    args.name = shared(args, args.name)
    args.name = shared_if_chosen(args, args.name)
    print(args.name)


main()
