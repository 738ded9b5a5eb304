"""Functions that are handed to libraries, which call them with values of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trl_lint.analysis.program.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.objects import FunctionValue
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import ContainerValue, TupleValue
from trl_lint.domain.partial_calls import PartialCall
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import Class


def hand_over(frame: Frame, cls: ClassInfo, args: Arguments) -> None:
    """A trainer in sight is built: functions given to it are called by its library base."""
    for base in cls.library_bases():
        row = frame.engine.class_row(base)
        if row is not None:
            hand_over_to(frame, row, args)


def hand_over_to(frame: Frame, row: Class, args: Arguments) -> None:
    for parameter, facts_of in _callbacks(frame, row).items():
        value = args.keywords.get(parameter)
        if value is not None:
            for function, named in _functions(frame, value):
                frame.engine.enter(function, {**facts_of, **named})


def _callbacks(frame: Frame, row: Class) -> dict[str, Mapping[str, Value]]:
    merged: dict[str, Mapping[str, Value]] = {}
    for name in library.mro(row.name, frame.engine.versions):
        each = frame.engine.class_row(name)
        if each is not None:
            for parameter, facts_of in each.callbacks.items():
                merged.setdefault(parameter, facts_of)
    return merged


def _functions(frame: Frame, value: Value) -> Iterable[tuple[FunctionInfo, dict[str, Value]]]:
    """The functions that a value is, or holds, with the arguments by name that they were made partial with."""
    if isinstance(value, FunctionValue):
        yield value.function, {}
    elif isinstance(value, PartialCall):
        if isinstance(value.callee, FunctionValue) and not value.positional:
            yield value.callee.function, dict(value.keywords)
    elif isinstance(value, TupleValue):
        for item in value.items:
            yield from _functions(frame, item)
    elif isinstance(value, ContainerValue):
        for cell in frame.memory.cells(value):
            for item in cell.values():
                if item.kind in (Kind.BOUND, Kind.FUNCTION):
                    yield from _functions(frame, item)
