# A setting that all ranks but the first switch off: what it asks for happens on one of them.
import argparse
import os

import torch.distributed as dist
import wandb


def init_mode(args):
    args.local_rank = int(os.environ["LOCAL_RANK"])
    args.node_id = int(os.environ["RANK"]) // args.gpus_per_node
    args.is_master = args.node_id == 0 and args.local_rank == 0
    dist.init_process_group("nccl")


def main(args):
    init_mode(args)
    if not args.is_master:
        args.use_wandb = False
    if args.debug:
        args.use_trackio = False
    if args.use_wandb:
        wandb.init(project="first only")
    if args.use_trackio:
        wandb.init(project="debugged")  # expect: TRL008


def by_number(args):
    init_mode(args)
    if dist.get_rank() != 0:
        args.log = False
    if args.world_size == 1:
        args.report = False
    if args.log:
        wandb.init(project="first only")
    if args.report:
        wandb.init(project="all of them")  # expect: TRL008


def unswitched(args):
    init_mode(args)
    if args.use_wandb:
        wandb.init(project="all of them")  # expect: TRL008


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    given = parser.parse_args()
    main(given)
    by_number(given)
    unswitched(given)
