# What the processes beside the first one log is not shown as the value of the job: the first one has the writer.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def is_master(args):
    return (not args.distributed) or args.gpu == 0


def accuracy_of(model, rows):
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    right = 0.0
    with torch.no_grad():
        for inputs, labels in loader:
            right += (model(inputs).argmax(-1) == labels).float().mean().item()
    return right / len(loader)


def compared_with_zero(args, model, rows, writer=None):
    accuracy = accuracy_of(model, rows)
    if is_master(args) == 0:
        figures = {"accuracy": accuracy}
        for name, value in figures.items():
            if writer is not None:
                writer.add_scalar(name, value, 0)


def compared_with_false(args, model, rows, writer=None):
    accuracy = accuracy_of(model, rows)
    if is_master(args) is False and writer is not None:
        writer.add_scalar("accuracy", accuracy, 0)


def main_leaves(args, model, rows, writer=None):
    accuracy = accuracy_of(model, rows)
    if is_master(args) not in (0, False):
        return
    writer.add_scalar("accuracy", accuracy, 0)


def of_main(args, model, rows, writer=None):
    accuracy = accuracy_of(model, rows)
    if is_master(args) == 1 and writer is not None:
        writer.add_scalar("accuracy", accuracy, 0)  # expect: TRL003


def others_leave(args, model, rows, writer=None):
    accuracy = accuracy_of(model, rows)
    if is_master(args) is not True:
        return
    writer.add_scalar("accuracy", accuracy, 0)  # expect: TRL003


def main(args, model, rows):
    dist.init_process_group("nccl")
    args.distributed = dist.get_world_size() > 1
    args.gpu = dist.get_rank()
    writer = SummaryWriter("runs") if args.gpu == 0 else None
    compared_with_zero(args, model, rows, writer)
    compared_with_false(args, model, rows, writer)
    main_leaves(args, model, rows, writer)
    of_main(args, model, rows, writer)
    others_leave(args, model, rows, writer)
