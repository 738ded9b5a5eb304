# Settings without the flag that starts the processes are those of a program of one process.
import argparse

import torch.distributed as dist
import torch.multiprocessing as mp


def save_settings(args):
    if hasattr(args, "distributed"):
        if not args.distributed or args.rank == 0:
            with open("settings.txt", "w") as file:
                file.write(str(args))
    else:
        with open("settings.txt", "w") as file:
            file.write(str(args))


def save_names(args):
    if hasattr(args, "names"):
        with open("names.txt", "w") as file:  # expect: TRL008
            file.write(str(args.names))
    else:
        with open("no_names.txt", "w") as file:  # expect: TRL008
            file.write("none")


def worker(rank, args):
    if args.distributed:
        dist.init_process_group("nccl", rank=rank, world_size=args.world_size)
        args.rank = rank
    save_settings(args)
    save_names(args)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--world-size", type=int, default=1)
    args = parser.parse_args()
    args.distributed = args.world_size > 1
    if args.distributed:
        mp.spawn(worker, nprocs=args.world_size, args=(args,))
    else:
        worker(0, args)


if __name__ == "__main__":
    main()
