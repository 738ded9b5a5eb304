"""A function that is run once per GPU, or alone as the first rank: a test for that is a guard in both cases."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.tensorboard import SummaryWriter


def main():
    gpus = torch.cuda.device_count()
    if gpus < 2:
        work(0, gpus)
        return
    mp.spawn(work, nprocs=gpus, args=(gpus,))


def work(rank, gpus):
    if rank == 0:
        SummaryWriter("curves")
    dist.init_process_group("nccl", rank=rank, world_size=gpus)
    draw(torch.zeros(3), alpha=0)


def draw(values, alpha):
    if alpha == 0:
        SummaryWriter("values")  # expect: TRL008
    return values


if __name__ == "__main__":
    main()
