# What one rank finds and puts into a list: None on the others until they have it from there.

import random
from pathlib import Path

import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def newest_of_own(folder):
    box = [None]
    if dist.get_rank() == 0:
        done = sorted(folder.glob("step-*"))
        box[0] = str(done[-1]) if done else None
    return box[0]


def newest(folder):
    box = [None]
    if dist.get_rank() == 0:
        done = sorted(folder.glob("step-*"))
        box[0] = str(done[-1]) if done else None
    dist.broadcast_object_list(box, src=0)
    return box[0]


def newest_in_jobs(folder):
    found = {"path": None}
    if dist.get_rank() == 0:
        found["path"] = random.choice(list(folder.glob("step-*")))
    held = [found["path"]]
    dist.broadcast_object_list(held, src=0)
    found["path"] = held[0]
    return found["path"]


def load_own(folder, state):
    start = newest_of_own(folder)
    if start is None:
        return  # expect: TRL006
    dcp.load(state, checkpoint_id=start)


def load(folder, state):
    start = newest(folder)
    if start is None:
        return
    dcp.load(state, checkpoint_id=start)
    other = newest_in_jobs(folder)
    if other is None:
        return
    dcp.load(state, checkpoint_id=str(other))


def waits_where_it_found(folder):
    box = {"start": None}
    if dist.get_rank() == 0:
        box["start"] = max(folder.glob("step-*"), default=None)
    if box["start"] is None:
        return False  # expect: TRL006
    dist.barrier()
    return True


def waits_after_all_have_it(folder):
    box = [None, 0]
    if dist.get_rank() == 0:
        box[0] = max(folder.glob("step-*"), default=None)
    else:
        box[0] = folder / "none"
    if box[0] is None:
        return False
    dist.barrier()
    return True


def names(folder):
    box = [None]
    if dist.get_rank() == 0:
        box[0] = folder / "first"
    return box[0].name  # expect: TRL017


if __name__ == "__main__":
    dist.init_process_group("gloo")
    load_own(Path("runs"), {})
    load(Path("runs"), {})
    waits_where_it_found(Path("runs"))
    waits_after_all_have_it(Path("runs"))
    names(Path("runs"))
