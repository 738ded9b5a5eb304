# Programs that can start a process group, and raise wherever they have done so: they run as one process.
import json

import torch
import torch.distributed as dist


def set_up(args):
    if args.local_rank == -1 or args.no_cuda:
        device = torch.device("cuda")
    else:
        device = torch.device("cuda", args.local_rank)
        dist.init_process_group("nccl")
    return device


def prepare(rows):
    with open("rows.json", "w") as file:
        json.dump(rows, file)


def main(args, rows, n_gpu):
    set_up(args)
    prepare(rows)
    if args.local_rank != -1 or n_gpu > 1:
        if args.local_rank != -1:
            raise NotImplementedError
        print("several GPUs")


def start(args):
    if args.distributed:
        dist.init_process_group("nccl")


def keep(rows):
    with open("kept.json", "w") as file:  # expect: TRL008
        json.dump(rows, file)


def train(args, rows):
    start(args)
    keep(rows)
    if not args.quiet and args.distributed:
        raise ValueError("quiet only")
