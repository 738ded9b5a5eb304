# A helper that is given -1 for the rank makes no sampler: the rank that validates has all rows. With the rank, a share.
import os

import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torch.utils.tensorboard import SummaryWriter

RANK = int(os.getenv("RANK", -1))


def loader_by_default(rows, rank=-1):
    sampler = None if rank == -1 else DistributedSampler(rows)
    return DataLoader(rows, batch_size=8, sampler=sampler)


def loader_below_zero(rows, local_rank):
    sampler = DistributedSampler(rows) if local_rank >= 0 else None
    return DataLoader(rows, batch_size=8, sampler=sampler)


def loader_unless_listed(rows, rank):
    if rank not in (-1, -2):
        return DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows))
    return DataLoader(rows, batch_size=8)


def share_right(loader):
    right = seen = 0
    for guess, answer in loader:
        right += (guess == answer).sum().item()
        seen += len(answer)
    return right / seen


def main(rows):
    dist.init_process_group("nccl")
    own_share = share_right(loader_by_default(rows, rank=RANK))
    if RANK in {-1, 0}:
        writer = SummaryWriter("runs")
        writer.add_scalar("all", share_right(loader_by_default(rows, rank=-1)), 0)
        writer.add_scalar("all_as_well", share_right(loader_by_default(rows)), 0)
        writer.add_scalar("all_below", share_right(loader_below_zero(rows, -1)), 0)
        writer.add_scalar("all_unlisted", share_right(loader_unless_listed(rows, -1)), 0)
        writer.add_scalar("own", own_share, 0)  # expect: TRL003
        writer.add_scalar("own_below", share_right(loader_below_zero(rows, 0)), 0)  # expect: TRL003
