"""Settings or environment variables that the program itself sets by the rank are not the same on all ranks."""

import argparse
import os

import torch.distributed as dist

rank = dist.get_rank()
args = argparse.ArgumentParser().parse_args()
setattr(args, "place", rank)
setattr(args, "rate", 0.1)
reveal_rank(args.place)  # revealed: local(rank)
reveal_rank(args.rate)  # revealed: same
reveal_rank(args.other)  # revealed: same
setattr(args, "ddp.rank", rank)
reveal_rank(getattr(args, "ddp.rank", 0))  # revealed: local(rank)
setattr(args, "ddp.rank", unknown())
reveal_rank(getattr(args, "ddp.rank", 0))  # revealed: unknown
reveal_rank(getattr(args, "ddp.other", 0))  # revealed: same

os.environ["OWN"] = str(rank)
os.environ["ALIKE"] = "1"
reveal_rank(os.environ["OWN"])  # revealed: unknown
reveal_rank(os.environ.get("OWN"))  # revealed: unknown
reveal_rank(os.getenv("OWN"))  # revealed: unknown
reveal_rank(os.environ["ALIKE"])  # revealed: same
reveal_rank(os.environ["OTHER"])  # revealed: same
