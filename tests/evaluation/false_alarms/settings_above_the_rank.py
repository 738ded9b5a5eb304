# Where a setting decides that no rank has taken the branch of the main process, all of them get to the other one.
import argparse

import torch
import torch.distributed as dist


def is_first():
    return dist.get_rank() == 0


def gathered(x):
    out = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(out, x)
    return out


def rank_first(args, frames):
    if is_first() and args.cached:
        print("read from disk")
    elif not args.cached:
        frames = gathered(frames)
    return frames


def setting_first(args, frames):
    if args.cached and is_first():
        print("read from disk")
    elif not args.cached:
        frames = gathered(frames)
    return frames


def nested(args, frames):
    if not (args.cached and is_first()):
        print("computed")
        if not args.cached:
            frames = gathered(frames)
    return frames


def of_two_settings(args, frames):
    if args.cached and args.saves and is_first():
        print("read from disk")
    elif not args.saves:
        frames = gathered(frames)
    elif args.cached:
        frames = gathered(frames)  # expect: TRL006
    return frames


def same_setting(args, frames):
    if is_first() and args.cached:
        print("read from disk")
    elif args.cached:
        frames = gathered(frames)  # expect: TRL006
    return frames


def other_setting(args, frames):
    if is_first() and args.cached:
        print("read from disk")
    elif not args.saves:
        frames = gathered(frames)  # expect: TRL006
    return frames


def set_between(args, frames):
    cached = args.cached
    if is_first() and cached:
        print("read from disk")
    else:
        cached = args.saves
        if not cached:
            frames = gathered(frames)  # expect: TRL006
    return frames


def not_met_by_the_first(args, frames):
    if is_first() and args.cached:
        dist.barrier()  # expect: TRL006
    elif not args.cached:
        dist.barrier()
    return frames


parser = argparse.ArgumentParser()
parser.add_argument("--cached", action="store_true")
parser.add_argument("--saves", action="store_true")
args = parser.parse_args()
dist.init_process_group("nccl")
for each in (rank_first, setting_first, nested, of_two_settings, same_setting, other_setting):
    each(args, torch.zeros(3, device="cuda"))
set_between(args, torch.zeros(3, device="cuda"))
not_met_by_the_first(args, torch.zeros(3, device="cuda"))
