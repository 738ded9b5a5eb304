"""Numbers that a script's own code reads from tensors (`.item()`), in a controlled run.

Not every reported number goes through a log sink: scripts print, and keep lists that they write at their end. A number
that is the same on all ranks comes from a collective, and can be compared with one process as a metric can. This
excludes evaluation, whose last batches are filled up and truncated again, and whose loss is often deliberately a mean
of means.

A read is identified by the text of its line, which a fix elsewhere in the file does not change.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Mapping
from types import FrameType, ModuleType

from . import dealing, trace, wrapping
from .imports import Patch
from .job import Job
from .wrapping import Function

SINK = "item"
# The number of characters that identify a line.
_LONGEST = 80
# The reads of each line, by their instructions.
_reads: dict[tuple[str, str], list[int]] = {}


def patches(job: Job) -> Mapping[str, Patch]:
    """The patches by module; none if the run is not controlled."""
    return {"torch._tensor": lambda module: _patch_tensor(job, module)} if job.controlled else {}


def _patch_tensor(job: Job, module: ModuleType) -> None:
    def make(original: Function) -> Function:
        def item(self: object) -> object:
            value = original(self)
            frame = sys._getframe(1)
            is_own = frame.f_code.co_filename in job.user_files
            if is_own and isinstance(value, (int, float)) and dealing.is_training():
                place = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
                trace.write("log", sink=SINK, values={_name(frame): float(value)}, at=[place])
            return value

        return item

    wrapping.replace(module.Tensor, "item", make)


def _name(frame: FrameType) -> str:
    """The name of a read: the text of its line, and its number there if it is not the first."""
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()[:_LONGEST]
    known = _reads.setdefault((frame.f_code.co_filename, text), [])
    if frame.f_lasti not in known:
        known.append(frame.f_lasti)
    number = known.index(frame.f_lasti)
    return f"`{text}`" if not number else f"`{text}` ({number + 1})"
