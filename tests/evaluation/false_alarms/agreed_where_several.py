# A flag is made the same on all ranks if there are several GPUs, which is the only case in which it could differ.
import random

import torch
import torch.distributed as dist


def train(rank, num_gpus, steps):
    for _ in range(steps):
        stop = random.random() < 0.1 if rank == 0 else False
        if num_gpus > 1:
            flag = torch.tensor(float(stop)).cuda()
            dist.broadcast(flag, src=0)
            stop = bool(flag.item())
        if stop:
            break
        dist.barrier()


def train_apart(rank, num_workers, steps):
    for _ in range(steps):
        stop = random.random() < 0.1 if rank == 0 else False
        if stop:
            break  # expect: TRL006
        dist.barrier()
