"""A setting that a program splits or cleans stays the same on all ranks."""

import argparse
import os


def used_elsewhere():
    reveal_rank(args.names)  # revealed: same
    for name in args.names:
        reveal_rank(name)  # revealed: same
    reveal_rank(args.kind)  # revealed: same
    reveal_rank(args.device)  # revealed: unknown
    reveal_rank(args.own_names)  # revealed: unknown
    reveal_rank(args.out)  # revealed: unknown


args = argparse.ArgumentParser().parse_args()
args.names = args.names.split(",")
args.kind = args.kind.strip().lower()
args.device = args.device.split(":")  # its name may depend on the rank
args.own_names = args.own_names.split(os.environ["RANK"])
args.out = args.out.rstrip("/") + os.environ["LOCAL_RANK"]
used_elsewhere()

# So does what is the same everywhere, filled or cut by a setting.
reveal_rank(str(3).zfill(args.width))  # revealed: same
reveal_rank("epoch".ljust(len(str(args.epochs))))  # revealed: same
reveal_rank(str(3).zfill(args.local_rank))  # revealed: unknown
