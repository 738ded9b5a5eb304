"""Which releases of the libraries are in use: those in the settings, otherwise the installed ones."""

from __future__ import annotations

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
