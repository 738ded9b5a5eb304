# A rank whose process ends without an error leaves, as with `return`; on an error the launcher ends all of them.
import os
import sys

import torch.distributed as dist
from accelerate import Accelerator


def only_main():
    accelerator = Accelerator()
    if not accelerator.is_main_process:
        sys.exit(0)
    with open("report.txt", "w") as file:
        file.write("done")


def without_status():
    rank = dist.get_rank()
    if rank != 0:
        exit()
    with open("report.txt", "w") as file:
        file.write("done")


def at_once():
    rank = dist.get_rank()
    if rank != 0:
        dist.destroy_process_group()
        os._exit(0)
    with open("report.txt", "w") as file:
        file.write("done")


def raised():
    rank = dist.get_rank()
    if rank != 0:
        raise SystemExit
    with open("report.txt", "w") as file:
        file.write("done")


def in_loop(names):
    rank = dist.get_rank()
    for name in names:
        if rank != 0:
            quit()
        with open(name, "w") as file:
            file.write("done")


def checked():
    if not os.environ["REPORTS"]:
        sys.exit(0)
    with open("report.txt", "w") as file:  # expect: TRL008
        file.write("done")


def failed():
    rank = dist.get_rank()
    if rank > 8:
        sys.exit("too many")
    with open("report.txt", "w") as file:  # expect: TRL008
        file.write("done")


def own(exit):
    rank = dist.get_rank()
    if rank != 0:
        exit()
    with open("report.txt", "w") as file:  # expect: TRL008
        file.write("done")


def after_failure(load):
    rank = dist.get_rank()
    try:
        load()
    except ImportError:
        print(rank)
        sys.exit()
    with open("report.txt", "w") as file:  # expect: TRL008
        file.write("done")


def main(settings):
    dist.init_process_group("nccl")
    checked()
    failed()
    own(settings.exit)
    after_failure(settings.load)
    in_loop(settings.names)
    at_once()
    raised()
    without_status()
    only_main()
