"""Which releases of the libraries are in use: those in the settings, otherwise the installed ones."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

_Default = TypeVar("_Default")


def installed(name: str) -> str:
    """The installed release of a distribution; "" if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def are_still_installed(releases: Mapping[str, str]) -> bool:
    """Whether `installed` gives these answers now.

    Python's own search imports much. So it is only asked if there is no such distribution where pip puts one.
    """
    folders = [_distributions_in(folder) for folder in sys.path] if _only_python_finds() else [None]
    return all(_found_in(folders, name) == release or installed(name) == release for name, release in releases.items())


def _only_python_finds() -> bool:
    """Whether nothing but Python itself finds distributions."""
    return all(_is_pythons_own(each) for each in sys.meta_path if hasattr(each, "find_distributions"))


def _is_pythons_own(finder: object) -> bool:
    return getattr(finder, "__module__", "") == "_frozen_importlib_external"


def _distributions_in(folder: str) -> dict[str, list[str]] | None:
    """The paths that describe distributions in a folder of `sys.path`, by name; None if only Python can tell."""
    if folder.lower().endswith(".egg") or os.path.isfile(folder):
        return None
    found: dict[str, list[str]] = {}
    for entry in _listed(folder):
        stem, dot, ending = entry.lower().rpartition(".")
        if dot and ending in ("dist-info", "egg-info"):
            found.setdefault(_normalized(stem.partition("-")[0]), []).append(os.path.join(folder, entry))
    return found


def _found_in(folders: Iterable[Mapping[str, Sequence[str]] | None], name: str) -> str | None:
    """The release of a distribution in the first folder that has it, "" if none has; None if only Python can tell."""
    for distributions in folders:
        if distributions is None:
            return None
        found = distributions.get(_normalized(name))
        if found:
            is_clear = len(found) == 1 and found[0].endswith(".dist-info")
            return _release_in(os.path.join(found[0], "METADATA")) if is_clear else None
    return ""


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


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
