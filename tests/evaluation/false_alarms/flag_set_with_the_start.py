# A name that is set to True where the group is started, and to False in the other branch, tells whether there are
# several processes. One that is also set for something else does not.
import argparse

import torch.distributed as dist
from mmcv.runner import get_dist_info, init_dist


def main(args):
    if args.launcher == "none":
        distributed = False
    else:
        distributed = True
        init_dist(args.launcher)
    rank, _ = get_dist_info()
    if rank == 0:
        folder = args.folder
    if not distributed:
        print(folder)
    else:
        print(folder)  # expect: TRL017


def reversed_branches(args):
    if args.launcher != "none":
        init_dist(args.launcher)
        is_distributed = True
    else:
        is_distributed = False
    rank, _ = get_dist_info()
    if rank == 0:
        folder = args.folder
    if not is_distributed:
        return folder
    dist.barrier()
    return None


def cleared_for_the_test(args):
    distributed = True
    init_dist(args.launcher)
    rank, _ = get_dist_info()
    if rank == 0:
        folder = args.folder
    if args.test:
        distributed = False
    if not distributed:
        print(folder)  # expect: TRL017


def set_again(args):
    if args.launcher == "none":
        distributed = False
    else:
        distributed = True
        init_dist(args.launcher)
    rank, _ = get_dist_info()
    if rank == 0:
        folder = args.folder
    distributed = args.spread
    if not distributed:
        print(folder)  # expect: TRL017


def another_flag(args):
    if args.launcher == "none":
        verbose = False
    else:
        verbose = True
        init_dist(args.launcher)
    rank, _ = get_dist_info()
    if rank == 0:
        folder = args.folder
    verbose = verbose and args.verbose
    if not verbose:
        print(folder)  # expect: TRL017


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", default="none")
    parser.add_argument("--folder")
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    main(args)
    reversed_branches(args)
    cleared_for_the_test(args)
    set_again(args)
    another_flag(args)
