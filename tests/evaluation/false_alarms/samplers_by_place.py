# A sampler for the training rows alone: which loader has it, its place in the lists tells.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def make_samplers(sets, shuffles, count, rank):
    made = []
    for rows, shuffle in zip(sets, shuffles, strict=True):
        sampler = DistributedSampler(rows, num_replicas=count, rank=rank, shuffle=shuffle)
        made.append(sampler)
    return made


def make_loaders(sets, samplers, sizes, for_training):
    loaders = []
    for rows, sampler, size, trains in zip(sets, samplers, sizes, for_training, strict=True):
        shuffle = sampler is None if trains else False
        loader = DataLoader(rows, batch_size=size, sampler=sampler, shuffle=shuffle, drop_last=trains)
        loaders.append(loader)
    return loaders


@torch.no_grad()
def score(net, loader):
    total = 0.0
    for rows in loader:
        total += net(rows).mean()
    return total / len(loader)


def main(args, net, train_set, val_set, test_set):
    if args.distributed:
        dist.init_process_group("nccl")
        count, rank = dist.get_world_size(), dist.get_rank()
        unshared = [None, None]
        samplers = make_samplers([train_set], [True], count, rank) + unshared
    else:
        samplers = [None, None, None]
    _, val_loader, test_loader = make_loaders(
        [train_set, val_set, test_set], samplers, [args.size] + [args.size_test] * 2, [True, False, False]
    )
    shown = score(net, val_loader)
    if dist.get_rank() == 0:
        SummaryWriter("logs").add_scalar("validation", shown, 0)
        SummaryWriter("logs").add_scalar("test", score(net, test_loader), 0)


def main_of_all(args, net, train_set, val_set):
    if args.distributed:
        dist.init_process_group("nccl")
        count, rank = dist.get_world_size(), dist.get_rank()
        samplers = make_samplers([train_set, val_set], [True, False], count, rank)
    else:
        samplers = [None, None]
    _, val_loader = make_loaders([train_set, val_set], samplers, [args.size] * 2, [True, False])
    shown = score(net, val_loader)
    if dist.get_rank() == 0:
        SummaryWriter("logs").add_scalar("validation", shown, 0)  # expect: TRL003
