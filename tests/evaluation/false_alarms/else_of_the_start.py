# Where the group is started if a setting says so, the other branch is of one process; what follows both is of all.
import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter

parser = argparse.ArgumentParser()
parser.add_argument("--dist", action="store_true")
parser.add_argument("--slurm", action="store_true")
parser.add_argument("--fast", action="store_true")
parser.add_argument("--several", action="store_true")
parser.add_argument("--launcher", action="store_true")
parser.add_argument("--parallel", type=int)
parser.add_argument("--distributed", action="store_true")
parser.add_argument("--num_gpus", type=int)
args = parser.parse_args()


def build(model):
    if args.dist:
        if args.slurm:
            dist.init_process_group("nccl")
            torch.cuda.set_device(dist.get_node_local_rank())
        else:
            dist.init_process_group("nccl", init_method="env://")
            torch.cuda.set_device(dist.get_node_local_rank())
            torch.save(model.state_dict(), "start.pt")  # expect: TRL008
        model = DistributedDataParallel(model.cuda())
        writer = SummaryWriter(f"logs/{dist.get_rank()}")
    else:
        model = torch.nn.DataParallel(model).cuda()
        writer = SummaryWriter("logs")
        alone(model)
    torch.save(model.state_dict(), "model.pt")  # expect: TRL008
    return model, writer


def alone(model):
    torch.save(model.state_dict(), "alone.pt")


def by_number(distributed):
    if distributed or args.num_gpus > 1:
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_node_local_rank())
    elif args.fast:
        SummaryWriter("fast")
    else:
        SummaryWriter("slow")


def set_up():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())


def by_function():
    if args.several:
        set_up()
    else:
        SummaryWriter("one")


def with_another(distributed):
    if distributed and args.fast:
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_node_local_rank())
    else:
        SummaryWriter("not fast, or one")  # expect: TRL008


def if_there_is_none():
    if not dist.is_initialized():
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_node_local_rank())
    else:
        SummaryWriter("there is one")  # expect: TRL008


def work(rank):
    dist.init_process_group("nccl", rank=rank)
    torch.cuda.set_device(dist.get_node_local_rank())
    SummaryWriter("work")  # expect: TRL008


def started():
    if args.launcher:
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_node_local_rank())
    else:
        mp.spawn(work, nprocs=4)


def by_variable():
    if args.distributed:
        rank = int(os.environ["RANK"])
        SummaryWriter("of ranks")  # expect: TRL008
    else:
        rank = 0
        SummaryWriter("of one")
    if args.fast:
        rank = int(os.environ["RANK"])
    else:
        SummaryWriter("of all")  # expect: TRL008
    return rank


class Keeper:
    def __init__(self, model):
        self.model = model

    def save(self):
        torch.save(self.model.state_dict(), "kept.pt")

    def save_on_all(self):
        torch.save(self.model.state_dict(), "all.pt")  # expect: TRL008


def by_comparison(model):
    parallel = bool(args.parallel)
    if parallel == True:  # noqa: E712
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_node_local_rank())
    else:
        SummaryWriter("one by comparison")
    keeper = Keeper(model)
    if parallel == True:  # noqa: E712
        if dist.get_rank() == 0:
            keeper.save()
    else:
        keeper.save()
    if parallel == False:  # noqa: E712
        keeper.save()
    if bool(args.fast) == True:  # noqa: E712
        keeper.save_on_all()
    else:
        torch.save(model.state_dict(), "slow.pt")  # expect: TRL008


by_variable()
by_comparison(torch.nn.Linear(4, 1))
build(torch.nn.Linear(4, 1))
by_number(args.dist)
by_function()
with_another(args.dist)
started()
