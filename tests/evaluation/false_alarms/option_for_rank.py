# The code that starts the processes replaces an option `--rank`: each rank has its own file.
import argparse

import torch
from helpers import start_processes
from torch.nn.parallel import DistributedDataParallel


def log_to(path, rank=0):
    if rank > 0:
        path = path + f".rank{rank}"
    return open(path, "a")


def log_all_to(path, workers=0):
    if workers > 0:
        path = path + f".of{workers}"
    return open(path, "a")  # expect: TRL008


def main(args):
    start_processes(args)
    log = log_to(args.log, rank=args.rank)
    everything = log_all_to(args.everything, workers=args.workers)
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    return model, log, everything


parser = argparse.ArgumentParser()
parser.add_argument("--log", default="log.txt")
parser.add_argument("--everything", default="all.txt")
parser.add_argument("--rank", default=0, type=int)
parser.add_argument("--workers", default=0, type=int)
main(parser.parse_args())
