"""Notes: what an observer keeps with a run, with what is told of it, or with a file, under a class of its own.

Who keeps something writes a small class that is made without arguments, and asks for it where it is needed:

    class Computed:                       frame.notes.of(Computed).codes.add(code)
        def __init__(self) -> None:
            self.codes: set[str] = set()

What a run of a function keeps with a file, a class or the project outlasts it: it says so (`Interpreter.noted`), and so
one knows whether another run keeps the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

NoteT = TypeVar("NoteT")


class Notes:
    """One object of each class that is asked for, and what was worked out of texts."""

    __slots__ = ("_by_class", "_worked_out")

    def __init__(self) -> None:
        self._by_class: dict[type[object], object] = {}
        self._worked_out: dict[Hashable, tuple[Callable[[], object], object]] | None = None

    def of(self, cls: type[NoteT]) -> NoteT:
        """The note of this class, which is made when it is first asked for."""
        found = self._by_class.get(cls)
        if found is None:
            found = self._by_class[cls] = cls()
        assert isinstance(found, cls)
        return found

    def worked_out(self, what: Hashable, work: Callable[[], NoteT]) -> NoteT:
        """What comes of `work`, which looks at texts alone and is done once."""
        if self._worked_out is None:
            self._worked_out = {}
        if what not in self._worked_out:
            self._worked_out[what] = (work, work())
        return cast("NoteT", self._worked_out[what][1])

    def hold(self) -> bool:
        """Whether all that was worked out would come out the same now."""
        return all(work() == found for work, found in (self._worked_out or {}).values())
