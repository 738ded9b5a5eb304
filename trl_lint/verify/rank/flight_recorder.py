"""The collectives seen by C++: those called from Python and those issued by DDP's reducer.

torch's flight recorder keeps the last 2000 of each process, on gloo and on nccl, with the name of their group. There
are two recorders: that of nccl exists in CUDA builds only, and is the only one in torch without `_dump_fr_trace`.

Sources: https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html; which ranks a group has:
torch/distributed/distributed_c10d.py `_World.pg_names`, `_World.pg_group_ranks` of torch 2.13.0; the recorders:
torch/csrc/distributed/c10d/FlightRecorder.hpp `FlightRecorder<c10::Event>`, ProcessGroupNCCL.hpp
`FlightRecorder<at::cuda::CUDAEvent>`.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable
from typing import TypedDict

from . import call_stack, trace
from .job import Job

# Point-to-point messages, which are no collectives.
_OF_TWO = re.compile(r"send|recv")
# The functions that dump gloo's recorder, and nccl's.
_DUMPS = ("_dump_fr_trace", "_dump_nccl_trace")
_HERE = os.path.dirname(os.path.abspath(__file__))
_WRAPPERS = tuple(os.path.join(_HERE, name) for name in ("collectives.py", "functional.py"))
_WORLD = "default_pg"


class RecordedFrame(TypedDict, total=False):
    """A line of Python code that led to an entry."""

    filename: str
    line: int
    name: str


class RecordedCollective(TypedDict, total=False):
    """The fields of a recorder entry that are read here."""

    profiling_name: str
    input_sizes: list[list[int]]
    process_group: tuple[str, str]
    frames: list[RecordedFrame]


def record(job: Job) -> None:
    """Record the collectives that were not called from Python, such as gradient synchronisation.

    For each: its name, the shapes of its tensors, the members of its group (None for the world), and its lines.
    """
    c10d = getattr(getattr(sys.modules.get("torch"), "_C", None), "_distributed_c10d", None)
    dumps = [found for name in _DUMPS if (found := _entries(getattr(c10d, name, None))) is not None]
    if not dumps or trace.current is None:
        return
    members = _members()
    own = [_row(job, each, members) for dump in dumps for each in dump if _is_own(each, members)]
    trace.write("native", collectives=own, total=max(map(len, dumps)))


def _entries(dump: Callable[[], bytes] | None) -> list[RecordedCollective] | None:
    """The entries of a recorder; None if there is none, or its format is unknown."""
    if dump is None:
        return None
    try:
        return list(pickle.loads(dump()).get("entries", []))
    except Exception:
        return None


def _members() -> dict[str, list[int]]:
    """The ranks of each group of which this process is a member, by the group's name."""
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
    """Whether all members of a group issue this entry, and no recorded call led to it."""
    name, about = entry.get("process_group") or ("", "")
    return (
        (about == _WORLD or name in members)
        and not _OF_TWO.search(entry.get("profiling_name", ""))
        and not any(frame.get("filename") in _WRAPPERS for frame in entry.get("frames", ()))
    )
