"""Which releases of the libraries are in use: those in the settings, otherwise the installed ones."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TypeVar, overload

_Default = TypeVar("_Default")


def installed(name: str) -> str:
    """The installed release of a distribution; "" if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def is_still_installed(name: str, release: str) -> bool:
    """Whether `installed` gives this answer now.

    Python's own search imports much. So it is only asked if there is no such distribution where pip puts one.
    """
    return _found_on_path(name) == release or installed(name) == release


def _found_on_path(name: str) -> str | None:
    """The release of a distribution in a folder of `sys.path`, "" if there is none; None if only Python can tell."""
    if any(hasattr(finder, "find_distributions") and not _is_pythons_own(finder) for finder in sys.meta_path):
        return None
    for folder in sys.path:
        if folder.lower().endswith(".egg") or os.path.isfile(folder):
            return None
        found = [each for each in _listed(folder) if _distribution_in(each) == _normalized(name)]
        if found:
            is_clear = len(found) == 1 and found[0].endswith(".dist-info")
            return _release_in(os.path.join(folder, found[0], "METADATA")) if is_clear else None
    return ""


def _is_pythons_own(finder: object) -> bool:
    return getattr(finder, "__module__", "") == "_frozen_importlib_external"


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


def _distribution_in(entry: str) -> str:
    """The distribution that an entry of a folder describes, by its normalized name; "" if it describes none."""
    stem, dot, ending = entry.lower().rpartition(".")
    return _normalized(stem.partition("-")[0]) if dot and ending in ("dist-info", "egg-info") else ""


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _release_in(path: str) -> str | None:
    """The release that a metadata file gives; None if that is not plain."""
    try:
        with open(path, encoding="utf-8") as file:
            headers = file.read().partition("\n\n")[0]
    except (OSError, ValueError):
        return None
    found = [line.partition(":")[2].strip() for line in headers.splitlines() if line.startswith("Version:")]
    return found[0] if len(found) == 1 else None


class Releases(Mapping[str, str]):
    """The releases in use: configured ones first, then installed ones. Metadata is read only when needed.

    looked_up: the installed releases that were looked up.
    """

    def __init__(self, configured: Mapping[str, str]) -> None:
        self._configured = dict(configured)
        self.looked_up: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name in self._configured:
            return self._configured[name]
        if name not in self.looked_up:
            self.looked_up[name] = installed(name)
        return self.looked_up[name]

    @overload
    def get(self, name: str, /) -> str | None: ...
    @overload
    def get(self, name: str, default: str, /) -> str: ...
    @overload
    def get(self, name: str, default: _Default, /) -> str | _Default: ...
    def get(self, name: str, default: object = None, /) -> object:
        return self[name] or default

    def __iter__(self) -> Iterator[str]:
        return iter({**self._configured, **self.looked_up})

    def __len__(self) -> int:
        return len({**self._configured, **self.looked_up})
