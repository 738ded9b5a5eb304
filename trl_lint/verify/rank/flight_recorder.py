"""The collectives that C++ saw: those that Python called and those that DDP's reducer issued by itself.

torch's flight recorder keeps the last 2000 of each process, on gloo as on nccl, with the name of their group.

Sources: https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html; which ranks a group has:
torch/distributed/distributed_c10d.py `_World.pg_names`, `_World.pg_group_ranks` of torch 2.13.0.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from typing import TypedDict

from . import call_stack, trace
from .job import Job

# From one rank to another: no collective.
_OF_TWO = re.compile(r"send|recv")
_HERE = os.path.dirname(os.path.abspath(__file__))
_WRAPPERS = tuple(os.path.join(_HERE, name) for name in ("collectives.py", "functional.py"))
_WORLD = "default_pg"


class RecordedFrame(TypedDict, total=False):
    """A line of Python code that led to an entry."""

    filename: str
    line: int
    name: str


class RecordedCollective(TypedDict, total=False):
    """Of an entry of the recorder what is read here."""

    profiling_name: str
    input_sizes: list[list[int]]
    process_group: tuple[str, str]
    frames: list[RecordedFrame]


def tell(job: Job) -> None:
    """Write down the collectives that no call in Python stands behind: gradient synchronisation and its like.

    Of each: its name, the shapes of its tensors, the members of its group (None for the world), and its lines.
    """
    c10d = getattr(sys.modules.get("torch"), "_C", None)
    dump = getattr(getattr(c10d, "_distributed_c10d", None), "_dump_fr_trace", None)
    if dump is None or trace.current is None:
        return
    try:
        entries: list[RecordedCollective] = pickle.loads(dump()).get("entries", [])
    except Exception:  # a build without it, or one that keeps something else there
        return
    members = _members()
    own = [_row(job, each, members) for each in entries if _is_own(each, members)]
    trace.write("native", collectives=own, total=len(entries))


def _members() -> dict[str, list[int]]:
    """The ranks of each group that this process is a member of, by the group's name."""
    world = getattr(sys.modules.get("torch.distributed.distributed_c10d"), "_world", None)
    ranks = getattr(world, "pg_group_ranks", {})
    return {name: sorted(ranks[group]) for group, name in getattr(world, "pg_names", {}).items() if group in ranks}


def _row(job: Job, entry: RecordedCollective, members: dict[str, list[int]]) -> list[object]:
    name, about = entry.get("process_group") or ("", "")
    frames = [(each["filename"], each["line"], each["name"]) for each in entry.get("frames", ())]
    ranks = None if about == _WORLD else members[name]
    group = None if ranks is not None and len(ranks) == int(os.environ.get("WORLD_SIZE", "1")) else ranks
    at = call_stack.relevant(frames, job.user_files)
    return [entry.get("profiling_name", ""), entry.get("input_sizes", []), group, at]


def _is_own(entry: RecordedCollective, members: dict[str, list[int]]) -> bool:
    """Whether all members of a group issue this entry, and no call that was written down led to it."""
    name, about = entry.get("process_group") or ("", "")
    return (
        (about == _WORLD or name in members)
        and not _OF_TWO.search(entry.get("profiling_name", ""))
        and not any(frame.get("filename") in _WRAPPERS for frame in entry.get("frames", ()))
    )
