"""A setting that asks for one GPU is not set where several processes run: what is done then is done by one of them."""

import argparse

import pandas as pd
import torch
import torch.distributed as dist


def alone(args, rows):
    if args.single_gpu:
        pd.DataFrame(rows).to_csv("rows.csv")
    elif dist.get_rank() == 0:
        pd.DataFrame(rows).to_csv("all_rows.csv")


def alone_or_first(args):
    if args.single_gpu or dist.get_rank() == 0:
        torch.save(args, "settings.pt")


def not_alone(args):
    if not args.single_gpu:
        torch.save(args, "settings.pt")  # expect: TRL008


def fast(args):
    if args.single_pass:
        torch.save(args, "settings.pt")  # expect: TRL008


def all_but_first(args):
    if args.single_gpu or dist.get_rank() == 0:
        return  # expect: TRL006
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--single_gpu", action="store_true")
    parser.add_argument("--single_pass", action="store_true")
    args = parser.parse_args()
    if not args.single_gpu:
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_rank() % 8)
    alone(args, [1])
    alone_or_first(args)
    not_alone(args)
    fast(args)
    all_but_first(args)


if __name__ == "__main__":
    main()
