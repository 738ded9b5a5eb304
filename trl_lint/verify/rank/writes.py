"""Files: which ones this process opens for writing, and which it puts in their place under their final names.

Whoever writes a file that others read may make it under another name and rename it once it is whole, as the datasets
library does with its caches (datasets/arrow_dataset.py `Dataset._map_single`). The interpreter tells of each renaming
(`os.rename`, `os.replace` and `shutil.move` raise the event `os.rename`), and of each file that it opens; who writes
without it is asked where it is called (`made.py`).

Source: https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import os
import sys

from . import call_stack, trace
from .job import Job

_RENAMED, _OPENED = "os.rename", "open"
# A file that is opened so is made, emptied or added to.
_WRITES = os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Caches of compiled code: of these each process may make a copy, and any of them will do. Locks are there to be shared.
_SHARED = (".pyc", ".so", ".cubin", ".ptx", ".ttir", ".ttgir", ".llir", ".lock")
_COMPILERS = ("torchinductor", "triton", "__pycache__")
# What is no file, and what is kept for all programs.
_ELSEWHERE = ("/dev/", "/proc/", "/sys/", os.path.join(os.path.expanduser("~"), ".cache", ""))
_job: Job | None = None
_told: set[str] = set()


def watch(job: Job) -> None:
    """From now on, tell of files that this process writes; it can't be taken back."""
    global _job
    _job = job
    sys.addaudithook(_on_event)


def opens(path: object) -> None:
    """Tell of a file that is about to be opened for writing."""
    _tell(path, outside=_ELSEWHERE)


def _on_event(event: str, args: tuple[object, ...]) -> None:
    if event == _RENAMED:
        _tell(args[1])
    elif event == _OPENED and isinstance(args[2], int) and args[2] & _WRITES:
        opens(args[0])


def _tell(path: object, outside: tuple[str, ...] = ()) -> None:
    if trace.current is None or _job is None or not isinstance(path, (str, os.PathLike)):
        return
    file = os.path.abspath(path)
    ours = [os.path.join(_job.traces, "rank"), *([os.path.join(_job.cache, ".")] if _job.cache else ())]
    is_ours = file.startswith((*ours, *outside))
    if file in _told or is_ours or file.endswith(_SHARED) or any(name in file for name in _COMPILERS):
        return
    _told.add(file)
    trace.write("placed", file=file, at=call_stack.current(_job.user_files))
