# A program starts the group unless an option says that it debugs: with the option it is one process, everywhere.
import argparse
import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter

parser = argparse.ArgumentParser()
parser.add_argument("--debug", action="store_true")
parser.add_argument("--cpu", action="store_true")
parser.add_argument("--quick", action="store_true")
parser.add_argument("--engine")
parser.add_argument("--started", action="store_true")


def main(args):
    if not args.debug:
        dist.init_process_group("nccl")
        rank = dist.get_rank()
    else:
        rank = 0
        SummaryWriter("debugged")
    model = torch.nn.Linear(2, 2)
    if not args.debug:
        model = DistributedDataParallel(model.cuda())
        writer = SummaryWriter("logs") if rank == 0 else None
    else:
        writer = SummaryWriter("logs")
    if args.debug:
        torch.save(model.state_dict(), "debugged.pt")
    if args.quick:
        torch.save(model.state_dict(), "quick.pt")  # expect: TRL008
    note(args)
    return writer


def note(args):
    if args.debug:
        with open("debugged.json", "w") as file:
            json.dump(vars(args), file)
    with open("options.json", "w") as file:  # expect: TRL008
        json.dump(vars(args), file)


def by_another_arm(args, model):
    if args.cpu:
        rank, world_size = 0, 1
    else:
        dist.init_process_group("nccl")
        rank, world_size = dist.get_rank(), dist.get_world_size()
    if not args.cpu:
        SummaryWriter("fast")  # expect: TRL008
    if args.cpu:
        torch.save(model.state_dict(), "slow.pt")
    return rank, world_size


def by_engine(args, model):
    if not args.engine:
        dist.init_process_group("nccl")
    else:
        import deepspeed

        model, *_ = deepspeed.initialize(model=model, config=args.engine)
    if args.engine:
        torch.save(model.state_dict(), "engine.pt")  # expect: TRL008


def once(args, model):
    if not args.started:
        dist.init_process_group("nccl", rank=int(os.environ["RANK"]))
        args.started = True
    else:
        args.rank = 0
    if args.started:
        torch.save(model.state_dict(), "started.pt")  # expect: TRL008


if __name__ == "__main__":
    main(parser.parse_args())
    by_another_arm(parser.parse_args(), torch.nn.Linear(2, 2))
    by_engine(parser.parse_args(), torch.nn.Linear(2, 2))
    once(parser.parse_args(), torch.nn.Linear(2, 2))
