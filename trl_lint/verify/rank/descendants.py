"""Processes that a script leaves behind in sessions of their own, as wandb-core and the workers of vLLM are.

They outlive whoever started them. On Linux they become children of the next process above that asks for it, which can
end them then.

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
# Seconds in which the system takes away what was killed, or hands over what that had started.
_SECONDS = 5
_LOOK_SECONDS = 0.01


def adopt() -> None:
    """Have what outlives its parent below this process become its child (Linux; elsewhere nothing comes of it)."""
    with contextlib.suppress(OSError, AttributeError):
        _SYSTEM.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children(process: int) -> set[int]:
    """The processes that a process is the parent of, those that have ended and nobody has waited for among them."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if stat.read_text(errors="replace").rpartition(")")[2].split()[1] == str(process):
                found.add(int(stat.parent.name))
    return found


def end_children(but: Collection[int] = ()) -> None:
    """Kill the children of this process, and theirs as they become its own.

    but: those that stay. Whoever waits for one of the others must have done so.
    """
    end = time.monotonic() + _SECONDS
    while (left := children(os.getpid()) - set(but)) and time.monotonic() < end:
        for child in left:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, os.WNOHANG)
        time.sleep(_LOOK_SECONDS)


def kill_children() -> None:
    """Kill the children of this process, and leave it to others to wait for them."""
    for child in children(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
