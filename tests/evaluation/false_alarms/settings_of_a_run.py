# The main process reads its settings back from the run that it has given them to: they are the others' settings, too.
import argparse
import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel as DDP


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true")
    args = parser.parse_args()
    args.local_rank = int(os.environ.get("LOCAL_RANK", 0))
    return args


def updated():
    args = parsed()
    if args.local_rank == 0:
        wandb.init(project="quotes")
        wandb.config.update(args)
        args = wandb.config
    return args


def given_at_start():
    args = parsed()
    if args.local_rank == 0:
        run = wandb.init(project="quotes", config=vars(args))
        args = run.config
    return args


def of_the_run_alone():
    args = parsed()
    if args.local_rank == 0:
        wandb.init(project="quotes")
        args = wandb.config
    return args


def train(args):
    net = torch.nn.Linear(2, 2).cuda()
    if args.distributed:
        net = DDP(net)
    for _ in range(10):
        net(torch.randn(2, 2, device="cuda")).sum().backward()


def train_by_run(args):
    net = torch.nn.Linear(2, 2).cuda()
    if args.distributed:
        net = DDP(net)  # expect: TRL006
    for _ in range(10):
        net(torch.randn(2, 2, device="cuda")).sum().backward()


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
train(updated())
train(given_at_start())
train_by_run(of_the_run_alone())
