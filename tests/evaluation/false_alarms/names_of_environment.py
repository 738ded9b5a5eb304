# An environment variable of the launcher is read in one line, or under a name that only the caller knows.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def read(name, default=0):
    return int(os.environ.get(name, default))


def setup():
    rank, world, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    dist.init_process_group("nccl", rank=rank, world_size=world)
    return rank, world, local


def main(model, variable):
    rank, world, local = setup()
    model = DistributedDataParallel(model.cuda(local))
    torch.save(torch.get_rng_state(), f"rng.{rank}.pt")
    torch.save(torch.get_rng_state(), f"rng.{read(variable)}.pt")
    torch.save(model.state_dict(), f"model.of.{world}.pt")  # expect: TRL008
    first, _ = [int(os.environ[name]) for name in ("RANK", "WORLD_SIZE")]
    if first == 0:
        dist.barrier()  # expect: TRL006


if __name__ == "__main__":
    main(torch.nn.Linear(2, 2), input())
