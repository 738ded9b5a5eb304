"""Notes: what an observer keeps with a run, with what is told of it, or with a file, under a class of its own.

Who keeps something writes a small class that is made without arguments, and asks for it where it is needed:

    class Computed:                       frame.notes.of(Computed).codes.add(code)
        def __init__(self) -> None:
            self.codes: set[str] = set()
"""

from __future__ import annotations

from typing import TypeVar

NoteT = TypeVar("NoteT")


class Notes:
    """One object of each class that is asked for."""

    __slots__ = ("_by_class",)

    def __init__(self) -> None:
        self._by_class: dict[type[object], object] = {}

    def of(self, cls: type[NoteT]) -> NoteT:
        """The note of this class, which is made when it is first asked for."""
        found = self._by_class.get(cls)
        if found is None:
            found = self._by_class[cls] = cls()
        assert isinstance(found, cls)
        return found
