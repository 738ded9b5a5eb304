"""A name that a helper puts together with the rank and an option, and stores in the settings, is one of each rank.

Whether such a text is empty, how long it is and whether another one is in it is mostly the same on all of them.
"""

import argparse
import os

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--tag", default="")
parser.add_argument("--version", default="1")
parser.add_argument("--prefix")


def parse():
    args = parser.parse_args()
    args.number = int(os.environ["SLURM_PROCID"])
    name = args.tag + "_out_r" + str(args.number) + ".csv"
    args.out = name
    shared = args.tag + "_out_v" + str(args.version) + ".csv"
    args.out_of_all = shared
    args.out_later = name
    args.out_later = shared
    args.short = args.tag + str(args.number)
    args.formatted = f"{args.tag}_{args.number}"
    args.which = args.table[args.number]
    args.flag = args.debug or args.number
    dist.init_process_group("nccl", rank=args.number, world_size=2)
    return args


def main():
    args = parse()
    with open(args.out, "w") as file:
        file.write("started")
    with open(args.out_of_all, "w") as file:  # expect: TRL008
        file.write("started")
    with open(args.out_later, "w") as file:  # expect: TRL008
        file.write("started")
    is_there(args)
    is_there_in_short(args)
    is_long(args)
    is_long_as_formatted(args)
    is_folder(args)
    is_elsewhere(args)
    is_here(args)
    is_one_of_table(args)
    is_set(args)
    is_later(args)
    is_there_from_launcher(args.prefix)
    is_number_from_launcher()


def is_there(args):
    if args.out:
        dist.barrier()


def is_there_in_short(args):
    if args.short:
        dist.barrier()


def is_long(args):
    if len(args.out) > 30:
        dist.barrier()


def is_long_as_formatted(args):
    if len(args.formatted) > 3:
        dist.barrier()


def is_folder(args):
    if args.out.endswith("/"):
        dist.barrier()


def is_elsewhere(args):
    if "s3:" in args.out:
        dist.barrier()


def is_here(args):
    if "s3:" not in args.formatted:
        dist.barrier()


def is_one_of_table(args):
    if args.which:
        dist.barrier()


def is_set(args):
    if args.flag:
        dist.barrier()  # expect: TRL006


def is_later(args):
    if args.number:
        dist.barrier()  # expect: TRL006


def is_there_from_launcher(tag):
    out = tag + str(int(os.environ["RANK"]))
    if out:
        dist.barrier()


def is_number_from_launcher():
    number = 0 + int(os.environ["RANK"])
    if number:
        dist.barrier()  # expect: TRL006


if __name__ == "__main__":
    main()
