# What is made of a value where there is one: None on the ranks that have none, and there on all that have agreed on it.

import argparse
from pathlib import Path

import torch.distributed as dist


def path_on_first():
    found = None
    if dist.get_rank() == 0:
        found = max(Path("runs").glob("step-*"), default=None)
    return Path(found) if found else None


def name_on_first():
    found = None
    if dist.get_rank() == 0:
        found = max(Path("runs").glob("step-*"), default=None)
    return found and str(found)


def parent_on_first():
    found = None
    if dist.get_rank() == 0:
        found = max(Path("runs").glob("step-*"), default=None)
    if not found:
        return None
    return Path(found)


def path_for_all():
    box = [None]
    if dist.get_rank() == 0:
        box[0] = max(Path("runs").glob("step-*"), default=None)
    dist.broadcast_object_list(box, src=0)
    found = box[0]
    return Path(found) if found else None


def path_or_first():
    found = None
    if dist.get_rank() == 0:
        found = max(Path("runs").glob("step-*"), default=None)
    return Path(found) if found else Path("runs/step-0")


def path_of_all(args):
    found = None
    if dist.get_rank() == 0:
        found = max(Path("runs").glob("step-*"), default=None)
        print(found)
    return Path(args.start) if args.start else None


def starts_from_path():
    if path_on_first() is not None:
        dist.barrier()  # expect: TRL006


def starts_from_name():
    if name_on_first() is not None:
        dist.barrier()  # expect: TRL006


def starts_from_parent():
    if parent_on_first() is not None:
        dist.barrier()  # expect: TRL006


def starts_together(args):
    if path_for_all() is not None:
        dist.barrier()
    if path_or_first() is not None:
        dist.barrier()
    if path_of_all(args) is not None:
        dist.barrier()


def shows_name():
    run = Path("runs").absolute() if dist.get_rank() == 0 else None
    name = run.name if run is not None else None
    if run and name:
        print(name.upper())
    print(name.upper())  # expect: TRL017


if __name__ == "__main__":
    dist.init_process_group("gloo")
    starts_from_path()
    starts_from_name()
    starts_from_parent()
    parser = argparse.ArgumentParser()
    parser.add_argument("--start")
    starts_together(parser.parse_args())
    shows_name()
