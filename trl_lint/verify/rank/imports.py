"""Patches at import time, replaced texts for some files, and marks in the user's own files.

Modules that a fork server has imported are patched in place, when the fork starts.

A finder comes before the others. It finds nothing itself: it lets the others find a module and wraps the loader, so
that a patch runs right after the module's own code and before other code has copied a name from it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

from . import marking
from .call_stack import UserFiles

Patch = Callable[[ModuleType], None]


class _Patched(importlib.abc.Loader):
    """A module's own loader, followed by a patch."""

    def __init__(self, loader: importlib.abc.Loader, patch: Patch) -> None:
        self._loader = loader
        self._patch = patch

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._patch(module)


class _Replaced(SourceFileLoader):
    """Loads a module from the text of another file. Its path, and so the location of other files, stays the same."""

    text = ""
    is_marked = False

    def get_code(self, fullname: str) -> CodeType:
        data = self.get_data(self.path)
        if self.is_marked:
            return marking.compiled(data, self.path, self.text)
        return compile(data, self.path, "exec", dont_inherit=True)

    def get_data(self, path: str) -> bytes:
        if path != self.path:
            raise OSError("no compiled file of another text")
        with open(self.text, "rb") as file:
            return file.read()


class Finder(importlib.abc.MetaPathFinder):
    """Lets the other finders find, then wraps or replaces the loader."""

    def __init__(self, patches: Mapping[str, Patch]) -> None:
        self.patches = dict(patches)
        self.sources: dict[str, str] = {}
        self.marked: UserFiles | None = None
        self._busy: set[str] = set()
        # Modules that were not found, by the places searched: libraries try optional imports in each training step, and
        # this finder would have everything searched twice.
        self._missing: dict[str, tuple[str, ...]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in self._busy or not (self.sources or self.marked or name in self.patches):
            return None
        places = tuple(sys.path if path is None else path)
        if self._missing.get(name) == places and name not in self.patches:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        finally:
            self._busy.discard(name)
        if spec is None or spec.loader is None:
            self._missing[name] = places
            return None
        origin = spec.origin or ""
        file = os.path.realpath(origin) if origin else ""
        is_marked = self.marked is not None and origin in self.marked and type(spec.loader) is SourceFileLoader
        text = self.sources.get(file, file if is_marked else None)
        if text is not None:
            loader = _Replaced(name, origin)
            loader.text, loader.is_marked = text, is_marked
            spec.loader = loader
        if text not in (None, file):
            show(origin, text)
        if name in self.patches:
            spec.loader = _Patched(spec.loader, self.patches[name])
        return spec


# By the id of a value in a module that may be patched, the places where it was copied to: module and name.
_copies: dict[int, list[tuple[ModuleType, str]]] = {}


def remember_copies(patches: Mapping[str, Patch]) -> None:
    """Find the copies of values from modules that are already imported, once for all forks."""
    imported = [sys.modules[name] for name in patches if name in sys.modules]
    known = {id(value) for module in imported for value in vars(module).values() if callable(value)}
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in known:
                _copies.setdefault(id(value), []).append((module, name))


def install(patches: Mapping[str, Patch]) -> Finder:
    """Patch these modules when they are imported; those that already are, right now (`remember_copies`)."""
    for name, patch in patches.items():
        if module := sys.modules.get(name):
            _patch_in_place(module, patch)
    finder = Finder(patches)
    sys.meta_path.insert(0, finder)
    return finder


def _patch_in_place(module: ModuleType, patch: Patch) -> None:
    """Patch a module, and the copies of its values in other modules."""
    before = dict(vars(module))
    patch(module)
    for name, value in before.items():
        if vars(module)[name] is not value:
            for owner, copied in _copies.get(id(value), ()):
                setattr(owner, copied, vars(module)[name])


def show(path: str, text: str) -> None:
    """Make tracebacks quote the text that really runs."""
    with open(text, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines(keepends=True)
    linecache.cache[path] = (sum(map(len, lines)), None, lines, path)
