# If a job shows each process one GPU only, that is the first GPU for all of them.
import os

import torch
import torch.distributed as dist


def set_up():
    rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    local_rank = 0
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", rank=rank, world_size=size)
    return torch.device(f"cuda:{local_rank}")


def main():
    device = set_up()
    dist.all_reduce(torch.ones(1, device=device))
    dist.all_reduce(torch.ones(1))  # expect: TRL011


if __name__ == "__main__":
    main()
