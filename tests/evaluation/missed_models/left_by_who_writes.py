# A writer that rank 0 makes, if the settings name a folder, tells it from all others, whatever else is asked.
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


def leaves_alone(rank, args, score):
    writer = SummaryWriter(args.folder) if rank == 0 and args.folder is not None else None
    for step in range(10):
        dist.barrier()
        if writer is not None and score(step) > 3:
            break  # expect: TRL006


def leaves_from_a_branch(rank, args, score):
    writer = None
    if args.folder is not None and rank == 0:
        writer = SummaryWriter(args.folder)
    for step in range(10):
        dist.barrier()
        if writer is not None and score(step) > 3:
            break  # expect: TRL006


def all_leave(args, score):
    writer = None
    if args.folder is not None and args.writes:
        writer = args.folder
    for step in range(10):
        dist.barrier()
        if writer is not None and score(step) > 3:
            break


def members_leave(rank, args, score):
    writer = None
    if args.folder is not None and rank in args.members:
        writer = SummaryWriter(args.folder)
    for step in range(10):
        dist.barrier()
        if writer is not None and score(step) > 3:
            break


def main(args, score):
    dist.init_process_group("nccl")
    leaves_alone(dist.get_rank(), args, score)
    leaves_from_a_branch(dist.get_rank(), args, score)
    all_leave(args, score)
    members_leave(dist.get_rank(), args, score)
