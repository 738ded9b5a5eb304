"""Files that this process opens for writing, or moves to their final names.

Code that writes a file for other readers may create it under another name and rename it once it is complete, as the
datasets library does with its caches (datasets/arrow_dataset.py `Dataset._map_single`). The interpreter reports each
renaming (`os.rename`, `os.replace` and `shutil.move` raise the event `os.rename`), and each file that it opens; writers
outside of Python are recorded where they are called (`made.py`).

Whether another rank writes the same file is a race: a rank that is late finds the file, and reads it. So the first
files to be moved are moved a moment later, in which the others can look and find none.

Files opened by a library that handles ranks itself are not recorded: `save_pretrained` writes the weights on all ranks,
whatever `is_main_process` says (transformers/modeling_utils.py of 4.51.3).

Source: https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import os
import sys
import time

from . import call_stack, trace
from .job import Job

_RENAMED, _OPENED = "os.rename", "open"
# The function of `tempfile` that tries with a file of its own whether it can write to a folder.
_TRIES = "_get_default_tempdir"
# Flags with which a file is created, truncated or appended to.
_WRITES = os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Caches of compiled code: each process may write a copy, and any of them is correct. Locks are meant to be shared.
_SHARED = (".pyc", ".so", ".cubin", ".ptx", ".ttir", ".ttgir", ".llir", ".lock")
_COMPILERS = ("torchinductor", "triton", "__pycache__")
# Paths that are no files, and those shared by all programs.
_ELSEWHERE = ("/dev/", "/proc/", "/sys/", os.path.join(os.path.expanduser("~"), ".cache", ""))
_KNOW_RANKS = ("datasets", "deepspeed", "diffusers", "huggingface_hub", "lightning", "peft", "transformers", "trl")
# How long a file is held back, in seconds, and how many files are: a job that moves many is not slowed down further.
_HELD_BACK, _MOST_HELD_BACK = 1.0, 3
_job: Job | None = None
_recorded: set[str] = set()
_moved = 0


def watch(job: Job) -> None:
    """From now on, record the files that this process writes; this can't be undone."""
    global _job
    _job = job
    sys.addaudithook(_on_event)


def opens(path: object) -> None:
    """Record a file that is about to be opened for writing, unless by a library that handles ranks itself."""
    if _job is None or trace.current is None or not isinstance(path, (str, bytes, os.PathLike)):
        return
    # `tempfile` opens the folder, with an opener that creates a file in it.
    if not os.fsdecode(path).startswith(_ELSEWHERE) and not os.path.isdir(path):
        at = call_stack.current(_job.user_files)
        if at and not call_stack.is_of(at[0][0], _KNOW_RANKS):
            _record(os.fsdecode(path))


def _on_event(event: str, args: tuple[object, ...]) -> None:
    if event == _RENAMED and isinstance(args[1], (str, os.PathLike)):
        _moves(os.fspath(args[1]))
    elif event == _OPENED and isinstance(args[2], int) and args[2] & _WRITES and _caller() != _TRIES:
        opens(args[0])


def _moves(path: str) -> None:
    """Record a file that is about to get its final name, and hold it back: the event comes before the renaming."""
    global _moved
    if _record(path) and _moved < _MOST_HELD_BACK:
        _moved += 1
        time.sleep(_HELD_BACK)


def _caller() -> str:
    """The function that does what is reported; C++ code has none."""
    return sys._getframe(2).f_code.co_name


def _record(path: str) -> bool:
    """Record a file, unless it was before or any rank may write it: whether it was recorded."""
    if _job is None or trace.current is None:
        return False
    file = os.path.abspath(path)
    ours = (os.path.join(_job.traces, "rank"), *([os.path.join(_job.cache, ".")] if _job.cache else ()))
    is_shared = file.endswith(_SHARED) or any(name in file for name in _COMPILERS)
    if is_shared or file in _recorded or file.startswith(ours):
        return False
    _recorded.add(file)
    trace.write("placed", file=file, at=call_stack.current(_job.user_files))
    return True
