# What torchrun sets is there on each rank, and the text "0" is true. The number 0 is not.
import os
import sys

import torch
import torch.distributed as dist


def main(rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    if int(os.environ["LOCAL_RANK"]) + int(os.environ["GROUP_RANK"]):
        dist.barrier()  # expect: TRL006
    return model


if os.environ.get("GROUP_RANK"):
    main(int(os.environ["LOCAL_RANK"]))
else:
    sys.exit("start it with torchrun")
