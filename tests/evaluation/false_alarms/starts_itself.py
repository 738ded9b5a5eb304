# The script starts its processes itself: it is meant to be started with `python`.
import subprocess
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank, size):
    dist.init_process_group("nccl", rank=rank, world_size=size)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(rank), device_ids=[rank])
    model(torch.ones(1, 2).cuda(rank)).sum().backward()


def spawned():
    mp.spawn(worker, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())


def launched():
    subprocess.run(["torchrun", "--nproc_per_node", "2", "train.py"], check=True)
    subprocess.check_call([sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "train.py"])


if __name__ == "__main__":
    spawned()
    launched()
