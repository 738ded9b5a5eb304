"""Limits on how much of a tree is searched, because it may be a home directory."""

from __future__ import annotations

from collections.abc import Callable


class TooLarge(Exception):
    """A tree has more names than the limit."""


class Budget:
    """What may still be searched: how many names, and how many of the files that are asked for."""

    def __init__(self, is_requested: Callable[[str], bool], names: int, files: int) -> None:
        self._is_requested = is_requested
        self.names = names
        self.files = files

    def is_wanted(self, name: str) -> bool:
        """Whether to read a file of this name.

        Raises:
            TooLarge: there have been too many names.
        """
        self.names -= 1
        if self.names < 0:
            raise TooLarge
        wanted = self.files > 0 and self._is_requested(name)
        self.files -= wanted
        return wanted
