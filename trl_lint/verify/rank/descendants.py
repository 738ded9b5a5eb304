"""Processes that a script leaves behind in sessions of their own, such as wandb-core and the workers of vLLM.

They outlive the process that started them. On Linux they become children of the next process above that requests it,
which can then kill them.

Source: https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_SYSTEM = ctypes.CDLL(None)
# Seconds for the system to remove killed processes, or to reassign their children.
_SECONDS = 5
_LOOK_SECONDS = 0.01


def adopt() -> None:
    """Make processes below this one its children if they outlive their parent (Linux; no effect elsewhere)."""
    with contextlib.suppress(OSError, AttributeError):
        _SYSTEM.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children(process: int) -> set[int]:
    """The children of a process, including ended ones that were not waited for."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if stat.read_text(errors="replace").rpartition(")")[2].split()[1] == str(process):
                found.add(int(stat.parent.name))
    return found


def end_children(but: Collection[int] = ()) -> None:
    """Kill the children of this process, and their children as they become its own.

    but: those that are kept. Other code must no longer wait for the remaining ones.
    """
    end = time.monotonic() + _SECONDS
    while (left := children(os.getpid()) - set(but)) and time.monotonic() < end:
        for child in left:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, os.WNOHANG)
        time.sleep(_LOOK_SECONDS)


def kill_children() -> None:
    """Kill the children of this process, without waiting for them."""
    for child in children(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
