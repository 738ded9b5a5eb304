# A helper sets a flag of the settings by the rank: where it is asked for elsewhere, the ranks are told apart.
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter


def init_with_torchrun(args):
    dist.init_process_group("nccl")
    args.rank = int(os.environ["RANK"])
    if args.rank == 0:
        args.log = True
    else:
        args.log = False


def init_with_slurm(args):
    rank = int(os.environ["SLURM_PROCID"])
    dist.init_process_group("nccl", rank=rank)
    args.log = False
    if rank == 0:
        args.log = True


def init(args):
    if args.launcher == "torchrun":
        init_with_torchrun(args)
        args.curves = True
    elif args.launcher == "slurm":
        init_with_slurm(args)
        args.curves = False
    else:
        raise ValueError(args.launcher)


def main(args, model):
    init(args)
    model = DistributedDataParallel(model)
    if args.log:
        SummaryWriter(args.folder)
        torch.save(model.state_dict(), "best.pt")
    if args.curves:
        SummaryWriter(args.folder)  # expect: TRL008
    torch.save(model.state_dict(), "last.pt")  # expect: TRL008
    if args.log:
        dist.barrier()  # expect: TRL006


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", default="torchrun")
    parser.add_argument("--folder", default="curves")
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--curves", action="store_true")
    main(parser.parse_args(), torch.nn.Linear(2, 2))
