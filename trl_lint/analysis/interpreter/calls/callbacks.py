"""Functions passed to libraries, which call them with their own values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeVar

import libcst as cst

from trl_lint.analysis.interpreter.calls import filled_classes
from trl_lint.analysis.program.definitions.objects import FunctionValue, ProjectInstance, class_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import callee_of, last_name
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.given_functions import GivenFunction
from trl_lint.domain.choices import AmongOthers, OneOfFunctions, OneOfProjectObjects
from trl_lint.domain.kinds import BoundMethod, ContainerValue, PartialCall, TupleValue
from trl_lint.domain.provenance import GivenToLibrary, Step
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.python import HARMLESS_DECORATORS
from trl_lint.knowledge.schema import Class

# A function, the class of its receiver, and its `functools.partial` keyword arguments.
_Callback: TypeAlias = tuple[FunctionInfo, ClassInfo | None, dict[str, Value]]
_T = TypeVar("_T")


def enter_callbacks(frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode) -> None:
    """Enter the functions passed to a project trainer, which its library base calls."""
    # An `__init__` of its own may have other parameters before the one of that name.
    named = args if cls.find("__init__") is None else Arguments(keywords=args.keywords)
    for base in cls.library_bases():
        row = frame.engine.class_row(base)
        if row is not None:
            enter_callbacks_of(frame, row, args if row.fills else named, node)


def enter_callbacks_of(frame: Frame, row: Class, args: Arguments, node: cst.CSTNode) -> None:
    """Enter the functions passed to a library's class, and what the classes run of which it makes objects.

    node: the call.
    """
    filled = None if row.fills is None else args.get(*row.fills)
    for made in () if filled is None else frame.memory.contents(filled) or (filled,):
        cls = class_of(frame.engine.settle(made))
        if cls is not None:
            filled_classes.complete(frame, cls, node)
    rows = _rows(frame, row)
    places = _merged(each.places for each in rows)
    for parameter, facts_of in _merged(each.callbacks for each in rows).items():
        value = args.get(places.get(parameter, -1), parameter)
        if value is not None:
            for function, cls, named in _functions(frame, value):
                given = _given(frame, function, node)
                frame.engine.enter(GivenFunction(function, {**_preceded(facts_of, given), **named}, cls, given))


def _given(frame: Frame, function: FunctionInfo, node: cst.CSTNode) -> Step | None:
    """The place where a library is given a function of another file; None for one of this file."""
    if function.module is frame.module:
        return None
    return GivenToLibrary(frame.module, node, f"each process runs `{function.name}`, which is passed here")


def _preceded(facts_of: Mapping[str, Value], given: Step | None) -> Mapping[str, Value]:
    """The facts of parameters, those that a chain explains with this place before it."""
    if given is None:
        return facts_of
    return {name: value.replace(provenance=given) if value.rank.differs else value for name, value in facts_of.items()}


def _rows(frame: Frame, row: Class) -> list[Class]:
    """The rows of a class and of its bases, the nearest first."""
    found = map(frame.engine.class_row, library.mro(row.name, frame.engine.versions))
    return [each for each in found if each is not None]


def _merged(tables: Iterable[Mapping[str, _T]]) -> dict[str, _T]:
    """What the tables say of each parameter; the first one that does so decides."""
    merged: dict[str, _T] = {}
    for table in tables:
        for parameter, said in table.items():
            merged.setdefault(parameter, said)
    return merged


def _functions(frame: Frame, value: Value) -> Iterable[_Callback]:
    """The functions that a value is or holds: also `__call__`, and a method, of an object of the project."""
    value = frame.engine.with_contents(frame, value)
    match value:
        case FunctionValue():
            yield value.function, None, {}
            yield from _wrappers(frame, value)
        case PartialCall() if not value.positional:
            for function, cls, _ in _functions(frame, value.callee):
                yield function, cls, dict(value.keywords)
        case BoundMethod(receiver=ProjectInstance(cls=cls), name=name):
            yield from _method(cls, name)
        case ProjectInstance(cls=cls):
            yield from _method(cls, "__call__")
        case OneOfFunctions() | OneOfProjectObjects():
            for option in value.options:
                yield from _functions(frame, option)
        case AmongOthers():
            for option in value.options:
                yield from _functions_of_element(frame, option)
        case TupleValue():
            for item in value.items:
                yield from _functions(frame, item)
        case ContainerValue():
            for cell in frame.memory.cells(value):
                for item in cell.values():
                    yield from _functions_of_element(frame, item)


def _wrappers(frame: Frame, value: FunctionValue) -> Iterable[_Callback]:
    """The functions that decorators of the project put in the place of one."""
    inside = Frame(frame.engine, value.function.module)
    for each in getattr(value.function.node, "decorators", ()):
        decorator = each.decorator
        if last_name(callee_of(decorator)) in HARMLESS_DECORATORS:
            continue
        applied = frame.engine.settle(frame.engine.evaluate(inside, decorator))
        if isinstance(applied, FunctionValue):
            wrapper = frame.engine.settle(frame.engine.call_value(inside, applied, Arguments([value]), decorator))
            if isinstance(wrapper, FunctionValue) and wrapper.function is not value.function:
                yield wrapper.function, None, {}


def _functions_of_element(frame: Frame, item: Value) -> Iterable[_Callback]:
    if isinstance(item, AmongOthers) or frame.engine.settle(item).kind in _CALLED:
        yield from _functions(frame, item)


# Kinds that may be callable.
_CALLED = frozenset({Kind.BOUND, Kind.FUNCTION, Kind.INSTANCE})


def _method(cls: ClassInfo, name: str) -> Iterable[_Callback]:
    method = cls.find(name)
    if method is not None and method.decorators.isdisjoint(("classmethod", "staticmethod")):
        yield method, cls, {}
