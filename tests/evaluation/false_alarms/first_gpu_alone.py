# The first GPU is chosen if there is one process: among several it is that of one of them.
import os

import torch
import torch.distributed as dist


def set_up(local_rank):
    if local_rank < 0:
        torch.cuda.set_device(0)
    else:
        torch.cuda.set_device(local_rank)
        dist.init_process_group("nccl")
    return torch.device("cuda:0")


def main():
    device = set_up(int(os.environ.get("LOCAL_RANK", -1)))
    dist.all_reduce(torch.ones(1, device=device))  # expect: TRL011


if __name__ == "__main__":
    main()
