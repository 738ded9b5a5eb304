"""The collectives that C++ saw: those that Python called and those that DDP's reducer issued by itself.

torch's flight recorder keeps the last 2000 of each process, on gloo as on nccl.

Source: https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from typing import TypedDict

from . import trace

# From one rank to another: no collective.
_OF_TWO = re.compile(r"send|recv")
_WRAPPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "collectives.py")


class RecordedFrame(TypedDict, total=False):
    """A line of Python code that led to an entry."""

    filename: str


class RecordedCollective(TypedDict, total=False):
    """Of an entry of the recorder what is read here."""

    profiling_name: str
    input_sizes: list[list[int]]
    process_group: tuple[str, str]
    frames: list[RecordedFrame]


def tell() -> None:
    """Write down the collectives that no call in Python stands behind: gradient synchronisation and its like."""
    c10d = getattr(sys.modules.get("torch"), "_C", None)
    dump = getattr(getattr(c10d, "_distributed_c10d", None), "_dump_fr_trace", None)
    if dump is None or trace.current is None:
        return
    try:
        entries: list[RecordedCollective] = pickle.loads(dump()).get("entries", [])
    except Exception:  # a build without it, or one that keeps something else there
        return
    own = [[each.get("profiling_name", ""), each.get("input_sizes", [])] for each in entries if _is_own(each)]
    trace.write("native", collectives=own, total=len(entries))


def _is_own(entry: RecordedCollective) -> bool:
    """Whether all ranks issue this entry, and no call that was written down led to it."""
    group = entry.get("process_group") or ("", "")
    return (
        "default_pg" in group
        and not _OF_TWO.search(entry.get("profiling_name", ""))
        and not any(frame.get("filename") == _WRAPPER for frame in entry.get("frames", ()))
    )
