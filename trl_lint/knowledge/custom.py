"""The rows for `[tool.trl-lint]`: what users say of their own functions, methods and classes."""

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
# The keywords by which a function of the project may take a process group.
_GROUPS = ((-1, "group"), (-1, "process_group"))


def _unnamed(result: str, *, reduction: str = "", lists: bool = False) -> Collective:
    # It may accept a Python number, so that a number is no known mistake.
    kind = (-1, "", reduction) if reduction else None
    return Collective(
        name="", source=_SOURCE, operand=ANY, fails="", result=result, reduction=kind, lists=lists, groups=_GROUPS
    )


# The operations of a reducer that can be configured, each with its row without a name.
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
    # As an attribute, it differs between ranks; if it is called, it is the function below.
    yield Attribute(name=name, source=_SOURCE, value=LibraryName(name, ranks.RANK_LOCAL))
    yield Function(name=name, source=_SOURCE, returns=RANK_GUARD)


def _sink(name: str) -> Iterator[Row]:
    yield Sink(name=name, source=_SOURCE, payload=ANY)


def _unwrapper(name: str) -> Iterator[Row]:
    yield Function(name=name, source=_SOURCE, returns=Transfer.UNWRAPPED)


def _classes(settings: Settings, rows: list[Row]) -> Iterator[Row]:
    """The configured trainer bases, and the classes that the methods among the rows belong to."""
    bases = {library.canonical(name): library.canonical(behaves) for name, behaves in settings.trainer_bases}
    owners = (row.name.rpartition(".")[0] for row in rows)
    for name in dict.fromkeys((*bases, *(owner for owner in owners if _is_new_class(owner)))):
        above = (bases[name],) if name in bases else ()
        yield Class(name=name, source=_SOURCE, bases=above)


def _is_new_class(dotted: str) -> bool:
    """Whether a dotted name is spelled like a class, and the tables have no such class."""
    is_class = dotted.rpartition(".")[2].lstrip("_")[:1].isupper()
    return is_class and not any(isinstance(row, Class) for row in library.rows(dotted))


def trainer_classes() -> list[str]:
    """The classes that a trainer base may be configured to behave like."""
    names = dict.fromkeys(row.name for row in library.ROWS if isinstance(row, Class))
    return [name for name in names if library.is_subclass(name, "transformers.Trainer")]
