"""The rows that `[tool.trl-lint]` stands for: what users say of their own functions, methods and classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from trl_lint.domain import ranks
from trl_lint.domain.kinds import LibraryName
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import ANY, RANK_GUARD, Attribute, Class, Collective, Function, Row, Sink, Transfer

if TYPE_CHECKING:
    from trl_lint.settings import Settings

_SOURCE = "[tool.trl-lint]"
# By which keywords a function of the user's own may be given a process group.
_GROUPS = ((-1, "group"), (-1, "process_group"))


def _unnamed(result: str, *, reduction: str = "", lists: bool = False) -> Collective:
    # It may well take a Python number, so a number in it is no mistake that is known of.
    kind = (-1, "", reduction) if reduction else None
    return Collective(
        name="", source=_SOURCE, operand=ANY, fails="", result=result, reduction=kind, lists=lists, groups=_GROUPS
    )


# What a reducer may be said to do, and the row that says so, less its name.
REDUCERS: Mapping[str, Collective] = {
    "broadcast": _unnamed("broadcast"),
    "gather": _unnamed("gathered"),
    "max": _unnamed("reduced", reduction="max"),
    "mean": _unnamed("reduced", reduction="mean"),
    "min": _unnamed("reduced", reduction="min"),
    "objects": _unnamed("objects", lists=True),
    "sum": _unnamed("reduced", reduction="sum"),
}


def rows_of(settings: Settings) -> tuple[Row, ...]:
    """All rows of the settings, with canonical names."""
    rows = [row for name, word in settings.reducers for row in _reducer(name, word)]
    for names, build in ((settings.guards, _guard), (settings.sinks, _sink), (settings.unwrappers, _unwrapper)):
        rows += [row for name in names for row in build(library.canonical(name))]
    return (*rows, *_classes(settings, rows))


def _reducer(name: str, word: str) -> Iterator[Row]:
    yield replace(REDUCERS[word], name=library.canonical(name))


def _guard(name: str) -> Iterator[Row]:
    # Read, it differs between ranks; called, it is the function below.
    yield Attribute(name=name, source=_SOURCE, value=LibraryName(name, ranks.RANK_LOCAL))
    yield Function(name=name, source=_SOURCE, returns=RANK_GUARD)


def _sink(name: str) -> Iterator[Row]:
    yield Sink(name=name, source=_SOURCE, payload=ANY)


def _unwrapper(name: str) -> Iterator[Row]:
    yield Function(name=name, source=_SOURCE, returns=Transfer.UNWRAPPED)


def _classes(settings: Settings, rows: list[Row]) -> Iterator[Row]:
    """The bases out of sight, and the classes that the methods among the rows belong to."""
    bases = {library.canonical(name): library.canonical(behaves) for name, behaves in settings.trainer_bases}
    owners = (row.name.rpartition(".")[0] for row in rows)
    for name in dict.fromkeys((*bases, *(owner for owner in owners if _is_new_class(owner)))):
        above = (bases[name],) if name in bases else ()
        yield Class(name=name, source=_SOURCE, bases=above)


def _is_new_class(dotted: str) -> bool:
    """Whether a dotted name is, by its spelling, that of a class, and of none that the tables know."""
    is_class = dotted.rpartition(".")[2].lstrip("_")[:1].isupper()
    return is_class and not any(isinstance(row, Class) for row in library.rows(dotted))


def trainer_classes() -> list[str]:
    """The classes that a trainer base may be said to behave like."""
    names = dict.fromkeys(row.name for row in library.ROWS if isinstance(row, Class))
    return [name for name in names if library.is_subclass(name, "transformers.Trainer")]
