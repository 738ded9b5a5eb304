"""The call stack, and which of its lines are relevant to a reader.

There are two: the line that asked for something (the innermost one outside of torch, accelerate and Python itself,
which may be in transformers or trl), and the innermost line of the user's own code.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache
from types import FrameType, TracebackType

StackFrame = tuple[str, int, str]  # file, line, function

# Packages whose code runs on behalf of other code.
CARRIERS = ("torch", "accelerate", "trl_lint", "wandb", "mlflow", "trackio", "tensorboardX", "typing_extensions.py")
# Folders of installed packages: if a project contains one, the packages in it are not the user's.
INSTALLED = ("site-packages", "dist-packages")
_HERE = os.path.dirname(os.path.abspath(__file__))
_PYTHON = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__)})


@cache
def is_carrier(file: str) -> bool:
    """Whether a file belongs to a package whose code runs on behalf of other code."""
    if file.startswith(("<", _HERE)):
        return True
    package = _package(file)
    return package in CARRIERS if package else file.startswith(_PYTHON)


def is_of(file: str, packages: Sequence[str]) -> bool:
    """Whether a file belongs to one of these installed packages."""
    return _package(file) in packages


def _package(file: str) -> str:
    """The installed package that a file belongs to; "" if there is none."""
    for folder in INSTALLED:
        _, found, below = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            return below.split(os.sep)[0]
    return ""


# Where torch calls a process group: a RuntimeError raised anywhere else is not the process group's.
_OF_GROUP = tuple(os.path.join("torch", *each) for each in (("distributed", ""), ("nn", "parallel", ""), ("autograd",)))


def is_of_process_group(file: str) -> bool:
    """Whether a file of torch passes calls or gradients to a process group."""
    return any(part in file for part in _OF_GROUP)


class UserFiles:
    """The user's own files: those below a folder, except installed packages in it, and the files given by name.

    The folder, and the named files, may themselves be in a folder of installed packages.
    """

    def __init__(self, root: str, files: Iterable[str] = ()) -> None:
        self._root = os.path.join(root, "")
        self._files = frozenset(files)
        self._known: dict[str, bool] = {}
        # The files seen so far that are carriers and not the user's, and those that are not.
        self.carriers: set[str] = set()
        self.others: set[str] = set()

    def __contains__(self, file: str) -> bool:
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = self._is_named(file) or self._is_below(file)
        return known

    def _is_named(self, file: str) -> bool:
        return file in self._files or os.path.realpath(file) in self._files

    def _is_below(self, file: str) -> bool:
        if not file.startswith(self._root) or file.startswith(_HERE):
            return False
        parts = [os.path.basename(self._root[:-1]), *file[len(self._root) :].split(os.sep)]
        if any(folder in parts for folder in INSTALLED):
            return False
        others = (each for each in _PYTHON if not self._root.startswith(os.path.join(each, "")))
        return not file.startswith(tuple(os.path.join(each, "") for each in others))


def relevant(stack: Iterable[StackFrame], user_files: UserFiles) -> list[StackFrame]:
    """The relevant lines of a stack (innermost first): the line that asked, and the user's innermost one."""
    caller: StackFrame | None = None
    for place in stack:
        if caller is None and (place[0] in user_files or not is_carrier(place[0])):
            caller = place
        if place[0] in user_files:
            return [caller, place] if caller and caller != place else [place]
    return [caller] if caller else []


def of_error(traceback: TracebackType | None) -> list[StackFrame]:
    """The stack of an exception, innermost first."""
    found = []
    while traceback is not None:
        found.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno, traceback.tb_frame.f_code.co_name))
        traceback = traceback.tb_next
    return found[::-1]


def current(user_files: UserFiles, depth: int = 2) -> list[StackFrame]:
    """The relevant lines of the caller's caller, as in `relevant`. Runs at every collective, therefore a plain loop."""
    caller: StackFrame | None = None
    carriers = user_files.carriers
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        file = frame.f_code.co_filename
        if file not in carriers and not _carries(file, user_files):
            place = (file, frame.f_lineno, frame.f_code.co_name)
            caller = caller or place
            if file in user_files:
                return [caller, place] if caller != place else [place]
        frame = frame.f_back
    return [caller] if caller else []


def _carries(file: str, user_files: UserFiles) -> bool:
    """Whether a file is a carrier and not the user's; remembers the answer."""
    if file in user_files.others:
        return False
    is_carried = is_carrier(file) and file not in user_files
    (user_files.carriers if is_carried else user_files.others).add(file)
    return is_carried
