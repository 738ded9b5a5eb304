# Totals on the CPU stay there, whatever is added to them or divides them.
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


@torch.no_grad()
def validate(model, batches, steps):
    total = torch.zeros(())
    for _ in range(steps):
        total += model(next(batches)).mean().cpu()
    total /= steps
    dist.all_reduce(total)  # expect: TRL011
    on_gpu = torch.zeros((), device="cuda")
    on_gpu /= steps
    dist.all_reduce(on_gpu)
    return total


def main(args, loader):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DDP(torch.nn.Linear(2, 2).cuda())
    validate(model, iter(loader), args.steps)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    main(parser.parse_args(), [])
