"""A name that a helper puts together with the rank and an option, and stores in the settings, is one of each rank."""

import argparse
import os

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--tag", default="")
parser.add_argument("--version", default="1")


def parse():
    args = parser.parse_args()
    args.number = int(os.environ["SLURM_PROCID"])
    name = args.tag + "_out_r" + str(args.number) + ".csv"
    args.out = name
    shared = args.tag + "_out_v" + str(args.version) + ".csv"
    args.out_of_all = shared
    args.out_later = name
    args.out_later = shared
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


if __name__ == "__main__":
    main()
