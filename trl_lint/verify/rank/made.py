"""Files and folders that this process creates, so that the next run can start without them.

The interpreter reports each file that it opens and each folder that it creates, before it does so; files that C++ or
Rust writes are recorded where that code is called. Existing files that the process moves or removes are recorded as
well: after that, it is unknown who created a file.

Source: https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType

from . import trace, wrapping, writes
from .imports import Patch
from .job import Job
from .wrapping import Function

# Functions that open a file without the interpreter: module, function, and the parameter with the file.
# Sources: torch/serialization.py `_open_zipfile_writer_file`; safetensors/torch.py `save_file`.
WRITERS = (("torch.serialization", "save", "f"), ("safetensors.torch", "save_file", "filename"))
# Created by whichever rank comes first, with the same result.
_SHARED = ("__pycache__", ".git")


class _Watch:
    """Records what is created, moved or removed below some folders, except the run's own files."""

    def __init__(self, job: Job) -> None:
        self._below = tuple(os.path.join(each, "") for each in job.fresh)
        self._others = tuple(os.path.join(each, "") for each in (os.path.dirname(job.traces), *_caches()))
        self._created: set[str] = set()
        self._on: Mapping[str, Callable[[tuple[object, ...]], None]] = {
            "open": lambda args: self._opened(args[0], args[2]),
            "os.mkdir": lambda args: self.creates(_path(args[0], args[2])),
            "os.symlink": lambda args: self.creates(_path(args[1], args[2])),
            "os.link": lambda args: self.creates(_path(args[1], args[3])),
            "os.rename": lambda args: self._moved(_path(args[0], args[2]), _path(args[1], args[3])),
            "os.remove": lambda args: self._removes(_path(args[0], args[1])),
            "os.rmdir": lambda args: self._removes(_path(args[0], args[1])),
        }

    def on_event(self, event: str, args: tuple[object, ...]) -> None:
        on = self._on.get(event)
        if on is not None and trace.current is not None:
            on(args)

    def creates(self, path: str) -> None:
        """A file or folder is about to be created."""
        if self._is_ours(path) and not self._is_created(path) and not os.path.lexists(path):
            self._created.add(path)
            trace.write("path", path=path, is_made=True)

    def _opened(self, path: object, flags: object) -> None:
        if isinstance(flags, int) and flags & os.O_CREAT:
            self.creates(_path(path, -1))

    def _moved(self, source: str, target: str) -> None:
        self._removes(source)
        self.creates(target)

    def _removes(self, path: str) -> None:
        if self._is_ours(path) and not self._is_created(path) and os.path.lexists(path):
            trace.write("path", path=path, is_made=False)

    def _is_ours(self, path: str) -> bool:
        if not path.startswith(self._below) or path.startswith(self._others):
            return False
        return not any(name in path.split(os.sep) for name in _SHARED)

    def _is_created(self, path: str) -> bool:
        """Whether this process has created a path, or a folder that contains it."""
        while path not in self._created:
            above = os.path.dirname(path)
            if above == path:
                return False
            path = above
        return True


_watch: _Watch | None = None


def watch(job: Job) -> None:
    """From now on, record what this process creates; this can't be undone."""
    global _watch
    if job.fresh:
        _watch = _Watch(job)
        sys.addaudithook(_watch.on_event)


def patches(job: Job) -> dict[str, Patch]:
    """Patches by module that record the files of writers not in Python."""
    return {module: partial(_patch, name=name, parameter=parameter) for module, name, parameter in WRITERS}


def _patch(module: ModuleType, name: str, parameter: str) -> None:
    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def saved(*args: object, **kwargs: object) -> object:
            file = pick(args, kwargs, parameter)
            writes.opens(file)
            if _watch is not None and trace.current is not None and isinstance(file, (str, os.PathLike)):
                _watch.creates(_path(file, -1))
            return original(*args, **kwargs)

        return saved

    wrapping.replace(module, name, make)


def _caches() -> list[str]:
    """Folders of what is downloaded or compiled once for all runs."""
    home = os.path.expanduser("~")
    named = [os.environ.get(name) for name in ("HF_HOME", "HF_HUB_CACHE", "TORCH_HOME", "XDG_CACHE_HOME")]
    return [os.path.abspath(each) for each in (os.path.join(home, ".cache"), *named) if each]


def _path(argument: object, folder: object) -> str:
    """The absolute path; "" if unknown. folder: the descriptor of the folder that the path is relative to."""
    if not isinstance(argument, (str, bytes, os.PathLike)):
        return ""
    try:
        path = os.fsdecode(argument)
        if isinstance(folder, int) and folder >= 0:
            path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
        return os.path.abspath(path)
    except (OSError, ValueError):
        return ""
