"""Places in the code: which line of the stack a reader wants to see.

Two of them: where something was asked for (the innermost line outside of torch, accelerate and Python itself, which
may be in transformers or trl), and the innermost line of the user's own project.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from types import FrameType, TracebackType

Place = tuple  # (file, line, function)

# Packages that carry out what others ask for.
CARRIERS = ("torch", "accelerate", "trl_lint", "wandb", "mlflow", "trackio", "tensorboardX")
_HERE = os.path.dirname(os.path.abspath(__file__))
_PYTHON = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__)})


@cache
def is_carrier(file: str) -> bool:
    """Whether a file only carries out what another one asks for."""
    if file.startswith(("<", _HERE)):
        return True
    for folder in ("site-packages", "dist-packages"):
        _, found, below = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            return below.split(os.sep)[0] in CARRIERS
    return file.startswith(_PYTHON)


# Where torch calls a process group: a RuntimeError from anywhere else is the script's own.
_OF_GROUP = tuple(os.path.join("torch", *each) for each in (("distributed", ""), ("nn", "parallel", ""), ("autograd",)))


def is_of_group(file: str) -> bool:
    """Whether a file of torch hands calls to a process group, or gradients to one."""
    return any(part in file for part in _OF_GROUP)


@cache
def is_own(file: str, root: str) -> bool:
    """Whether a file belongs to the user's project."""
    inside = file.startswith(root.rstrip(os.sep) + os.sep)
    return inside and "site-packages" not in file and not is_carrier(file)


def telling(stack: Iterable[Place], root: str) -> list[Place]:
    """Of a stack, innermost first: where it was asked for, and the innermost line of the project if that is another."""
    asked: Place | None = None
    for place in stack:
        if asked is None and not is_carrier(place[0]):
            asked = place
        if is_own(place[0], root):
            return [asked, place] if asked and asked != place else [place]
    return [asked] if asked else []


def stack_of_error(traceback: TracebackType | None) -> list[Place]:
    """The places of an exception, innermost first."""
    found = []
    while traceback is not None:
        found.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno, traceback.tb_frame.f_code.co_name))
        traceback = traceback.tb_next
    return found[::-1]


def here(root: str, depth: int = 2) -> list[Place]:
    """The telling places of the caller's caller, as `telling` has them. Runs at every collective: a plain loop."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and is_carrier(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return []
    asked = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    while frame is not None:
        if is_own(frame.f_code.co_filename, root):
            own = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
            return [asked, own] if own != asked else [own]
        frame = frame.f_back
    return [asked]
