"""Notes: what an observer attaches to a frame, a trace or a file, keyed by a class of its own.

To attach something, write a small class without constructor arguments, and get its instance where it is needed:

    class Computed:                       frame.notes.of(Computed).codes.add(code)
        def __init__(self) -> None:
            self.codes: set[str] = set()

Notes that one run of a function leaves on a file, a class or the project outlive the run: they are reported
(`Interpreter.note_stored`), so that the analysis can compare them with those of another run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial, wraps
from typing import Any, TypeVar, cast

NoteT = TypeVar("NoteT")
FindT = TypeVar("FindT", bound=Callable[..., object])


class Notes:
    """One object per requested class, and cached results computed from texts."""

    __slots__ = ("_by_class", "_cached")

    def __init__(self) -> None:
        self._by_class: dict[type[object], object] = {}
        self._cached: dict[Hashable, tuple[Callable[[], object], object]] | None = None

    def of(self, cls: type[NoteT]) -> NoteT:
        """The note of this class, created on first use."""
        found = self._by_class.get(cls)
        if found is None:
            found = self._by_class[cls] = cls()
        assert isinstance(found, cls)
        return found

    def cached(self, key: Hashable, work: Callable[[], NoteT]) -> NoteT:
        """The result of `work`, which depends on texts alone and is computed once."""
        if self._cached is None:
            self._cached = {}
        if key not in self._cached:
            self._cached[key] = (work, work())
        return cast("NoteT", self._cached[key][1])

    def hold(self) -> bool:
        """Whether all cached results are still valid."""
        return all(work() == found for work, found in (self._cached or {}).values())


def _keeping(keep: Callable[[Any, Hashable, Callable[[], object]], object]) -> Callable[[FindT], FindT]:
    def decorated(find: FindT) -> FindT:
        @wraps(find)
        def found(first: object, *args: Hashable) -> object:
            return keep(first, (find, args), partial(find, first, *args))

        return cast("FindT", found)

    return decorated


# Decorators for functions of positional arguments that depend on texts alone: each result is kept, for the others of
# its arguments, with the first one (a file, a class, the project); with the file that defines it (a class, a function);
# or with the project, as long as no more files are linted.
noted = _keeping(lambda holder, key, work: holder.notes.cached(key, work))
noted_in_file = _keeping(lambda defined, key, work: defined.module.notes.cached((key, defined), work))
noted_of_linted = _keeping(lambda project, key, work: project.of_linted(key, work))
