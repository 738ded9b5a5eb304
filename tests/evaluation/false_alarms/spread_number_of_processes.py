# A number of processes that is among the settings spread in a call is that number, as if it was passed by its name.
import sys
import time

import torch
import torch.distributed as dist


def train(rank=0, num_gpus=1, seconds=60):
    stop = torch.tensor(0.0).cuda()
    start = time.time()
    while True:
        if rank == 0 and time.time() - start > seconds:
            stop = torch.tensor(1.0).cuda()
        if num_gpus > 1:
            dist.broadcast(stop, 0)
        if stop:
            break
        dist.barrier()


def train_apart(rank=0, num_bins=1, seconds=60):
    stop = torch.tensor(0.0).cuda()
    start = time.time()
    while True:
        if rank == 0 and time.time() - start > seconds:
            stop = torch.tensor(1.0).cuda()
        if num_bins > 1:
            dist.broadcast(stop, 0)
        if stop:
            break  # expect: TRL006
        dist.barrier()


def run(rank, settings):
    dist.init_process_group("nccl", rank=rank, world_size=settings["num_gpus"])
    train(rank=rank, **settings)
    train_apart(rank=rank, **settings)


def main(settings):
    settings["num_gpus"] = int(sys.argv[1])
    torch.multiprocessing.spawn(run, args=(settings,), nprocs=settings["num_gpus"])
