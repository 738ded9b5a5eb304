# Each rank takes its own part of something created for all: the keys of the parts are not known to differ.
import torch
import torch.distributed as dist


def by_key(parts, name):
    mine = parts[dist.get_rank()]
    if "input_ids" in mine:
        dist.all_reduce(torch.ones(1, device="cuda"))
    if name not in mine:
        dist.all_reduce(torch.ones(1, device="cuda"))


def by_number(parts):
    mine = parts[dist.get_rank()]
    if 3 in mine:
        dist.all_reduce(torch.ones(1, device="cuda"))  # expect: TRL006


def by_size(parts):
    mine = parts[dist.get_rank()]
    if len(mine) > 3:
        dist.all_reduce(torch.ones(1, device="cuda"))  # expect: TRL006


def by_settings(args):
    if dist.get_rank() == 0:
        print(args.output)
    if "test" in args.tasks:
        with open(args.output, "w") as file:  # expect: TRL008
            file.write("done")
