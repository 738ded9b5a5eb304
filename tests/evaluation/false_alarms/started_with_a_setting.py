# Processes are started only if the program scores: otherwise the first of them runs the same function alone.
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run(rank, size, args):
    dist.init_process_group("nccl", rank=rank, world_size=size)
    sample(rank, args)
    dist.barrier()
    dist.destroy_process_group()


def sample(rank, args):
    model = torch.load(args.checkpoint)
    if args.score:
        torch.save(model(8), f"{rank}.pt")
        torch.save(model(8), "shared.pt")  # expect: TRL008
        dist.barrier()
    else:
        torch.save(model(1), "picture.pt")
    if args.verbose:
        dist.barrier()
    else:
        torch.save(model(2), "quiet.pt")  # expect: TRL008


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--checkpoint")
    parser.add_argument("--gpus", type=int, default=1)
    args = parser.parse_args()
    if args.gpus > 1 and args.score:
        mp.spawn(run, args=(args.gpus, args), nprocs=args.gpus)
    else:
        run(0, args.gpus, args)


main()
