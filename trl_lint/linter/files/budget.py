"""How much of a tree is looked through, which may be a home directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class TooLarge(Exception):
    """A tree has more names than are looked at."""


@dataclass(slots=True)
class Budget:
    """What may still be looked at: so many names, and of those that are asked for so many files."""

    asks_for: Callable[[str], bool]
    names: int
    files: int

    def is_wanted(self, name: str) -> bool:
        """Whether a file of this name is to be looked at.

        Raises:
            TooLarge: there have been too many names.
        """
        self.names -= 1
        if self.names < 0:
            raise TooLarge
        wanted = self.files > 0 and self.asks_for(name)
        self.files -= wanted
        return wanted
