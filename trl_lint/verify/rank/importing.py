"""Imports the libraries of a script in advance, and decides for which scripts that makes no difference.

An import may depend on environment variables, and on modules next to the script: on those that hide an installed one,
and on optional ones that a library tries to import. So both are recorded.

Source: https://docs.python.org/3/reference/import.html#the-import-system
"""

from __future__ import annotations

import importlib
import importlib.abc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from .imported import has_accelerator
from .job import Job

# C++ threads that handle a fork correctly. Source: jemalloc, `background_thread.c`.
_FORK_SAFE_THREADS = ("jemalloc_bg_thd",)
# Variables that differ from run to run and that no library keeps.
_OF_EACH_RUN = frozenset({"TMPDIR"})
# Without GPUs (`unfit_machine`) it makes no difference which of them are visible.
_NO_MATTER = frozenset({"CUDA_VISIBLE_DEVICES"})


class _Unfound(importlib.abc.MetaPathFinder):
    """The last finder, which records the names that no other finder has found."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        self.names.add(name.partition(".")[0])
        return None


@contextmanager
def _noted_reads() -> Iterator[set[str]]:
    """Record the variables that are read by name; code that reads all of them looks for a prefix."""
    names: set[str] = set()
    usual = type(os.environ)

    class Noted(usual):  # type: ignore[misc, valid-type]
        def __getitem__(self, name: str) -> str:
            names.add(name)
            value: str = super().__getitem__(name)
            return value

        def items(self) -> object:
            return {self.decodekey(name): self.decodevalue(value) for name, value in self._data.items()}.items()

    os.environ.__class__ = Noted
    try:
        yield names
    finally:
        os.environ.__class__ = usual


class Imported:
    """The modules that were imported, and what their import depended on."""

    def __init__(self, names: Sequence[str]) -> None:
        self.problem = ""
        self._environment = dict(os.environ)
        unfound = _Unfound()
        sys.meta_path.append(unfound)
        try:
            with _noted_reads() as self._read:
                for name in names:
                    importlib.import_module(name)
        except BaseException as error:
            self.problem = f"{type(error).__name__} at the import of {name}"
        finally:
            sys.meta_path.remove(unfound)
        self.problem = self.problem or unfit_machine()
        self._tops = unfound.names | {name.partition(".")[0] for name in sys.modules}
        files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        self._files = {os.path.realpath(file) for file in files if isinstance(file, str)}

    def unfit(self, job: Job, environment: Mapping[str, str], launchers: frozenset[str]) -> str:
        """Why a job can't run in a fork of this process as in a separate process; "" if it can.

        launchers: the variables that launchers set, which differ from rank to rank and run to run.
        """
        names = {*environment, *self._environment} - _NO_MATTER - _OF_EACH_RUN
        differ = {name for name in names if environment.get(name) != self._environment.get(name)}
        if odd := sorted((differ - launchers) | (differ & self._read)):
            return f"{odd[0]} differs, which may be read at an import"
        if early := sorted(self._files & {*job.sources, *job.files}):
            return f"{early[0]} is imported already"
        if not job.is_module and (hidden := _hidden(self._tops, os.path.dirname(os.path.realpath(job.script)))):
            return f"{hidden} lies beside the script"
        return self.problem


def _hidden(tops: set[str], folder: str) -> str:
    """A module of a folder with the name of a module that was searched elsewhere; "" if there is none."""
    importlib.invalidate_caches()
    here = {path.name.partition(".")[0] for path in Path(folder).iterdir()} & tops
    return next((name for name in sorted(here) if getattr(PathFinder.find_spec(name, [folder]), "loader", None)), "")


def unfit_machine() -> str:
    """Why a fork of this process, in its current state, would differ from a separate process; "" if it would not."""
    if has_accelerator():
        return "a GPU is there, which a forked process can't use"
    threads = [task.joinpath("comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    others = [name for name in threads if name not in _FORK_SAFE_THREADS]
    return "imports have started threads" if len(others) > 1 else ""
