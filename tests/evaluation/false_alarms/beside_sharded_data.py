# A setting for distributed training shards the data, wraps the model or asks for the rank: the other branch, which does
# nothing of the kind, is run by one process. Another setting, or one that only picks the engine, says nothing of it.
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from elsewhere import Rows
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler
from torch.utils.tensorboard import SummaryWriter


def main(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.world_size)
    rows = Rows()
    if args.distributed:
        global_rank = dist.get_rank()
        sampler = DistributedSampler(rows, rank=global_rank)
        writer = SummaryWriter("logs") if global_rank == 0 else None
    else:
        sampler = RandomSampler(rows)
        writer = SummaryWriter("logs")
    wrap(args, torch.nn.Linear(2, 2))
    ask(args)
    for_other_settings(args, rows)
    for_other_code(args, torch.nn.Linear(2, 2))
    return DataLoader(rows, sampler=sampler), writer


def wrap(args, model):
    if not args.use_ddp:
        torch.save(model.state_dict(), "start.pt")
    else:
        model = DistributedDataParallel(model)
    return model


def ask(args):
    if args.distributed == True:  # noqa: E712
        is_first = dist.get_rank() == 0
        SummaryWriter("of ranks")  # expect: TRL008
    else:
        is_first = True
        SummaryWriter("of one")
    return is_first


def for_other_settings(args, rows):
    if args.split:
        sampler = DistributedSampler(rows)
    else:
        sampler = RandomSampler(rows)
        SummaryWriter("not split")  # expect: TRL008
    if args.distributed_eval:
        sampler = DistributedSampler(rows)
    else:
        SummaryWriter("all rows for all")  # expect: TRL008
    if args.distributed and args.split:
        sampler = DistributedSampler(rows)
    else:
        SummaryWriter("not both")  # expect: TRL008
    return sampler


def for_other_code(args, model):
    if args.distributed:
        print("distributed")
    else:
        SummaryWriter("as far as is known")  # expect: TRL008
    if args.ddp:
        model = DistributedDataParallel(model)
    else:
        model = FullyShardedDataParallel(model)
        SummaryWriter("sharded")  # expect: TRL008
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", default=True, type=bool)
    parser.add_argument("--distributed_eval", action="store_true")
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--split", action="store_true")
    parser.add_argument("--use_ddp", action="store_true")
    parser.add_argument("--world_size", default=7, type=int)
    args = parser.parse_args()
    mp.spawn(main, args=(args,), nprocs=args.world_size)
