"""Objects that a parser makes of the classes that it was given, from what a command line or a file says.

For example:

    parser = HfArgumentParser((Own, TrainingArguments))
    own, args = parser.parse_args_into_dataclasses()         an Own with settings as fields, a TrainingArguments
    parser.parse_args_into_dataclasses(return_remaining_strings=True)          a list of texts after them
    HfArgumentParser(Own).parse_yaml_file(path)[0]           an Own
    HfArgumentParser(classes).parse_dict(options)            unknown, unless the classes are
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ClassValue, ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import callee_of
from trl_lint.analysis.state import containers, records, settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.kinds import LibraryInstance, LibraryName, TupleValue
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.schema import SETTING_OF_TEXTS, Class

# A class of the project, the name of one of a library, or None if it is not known.
_Filled: TypeAlias = ClassInfo | str | None


class ClassFiller(LibraryInstance):
    """A parser. fills: the classes of which it makes an object each, in their order."""

    __slots__ = ("fills",)
    fills: tuple[_Filled, ...]
    parts: ClassVar[dict[str, object]] = {"name": "", "fills": ()}


def filler(frame: Frame, row: Class, args: Arguments) -> LibraryInstance:
    """`HfArgumentParser((Own, TrainingArguments))`."""
    made = LibraryInstance(row.name)
    given = None if row.fills is None else args.get(*row.fills)
    if given is None:
        return made
    classes = containers.positions_of(frame, given)
    classes = (given,) if classes is None else classes
    return made.as_a(ClassFiller).with_parts(row.name, tuple(_class(frame, each) for each in classes))


def _class(frame: Frame, value: Value) -> _Filled:
    cls = frame.engine.settle(value)
    if isinstance(cls, ClassValue):
        return cls.cls
    return cls.name if type(cls) is LibraryName else None


def filled(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`parser.parse_args_into_dataclasses()`."""
    frame.engine.unresolved(frame, args, node)
    callee = callee_of(node)
    owner = frame.known_value(callee.value) if isinstance(callee, cst.Attribute) else None
    if not isinstance(owner, ClassFiller) or not all(owner.fills):
        return UNKNOWN
    return TupleValue(ranks.SAME, tuple(_object(frame, each, node) for each in owner.fills))


def filled_and_rest(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`parser.parse_args_into_dataclasses(return_remaining_strings=True)`."""
    objects = filled(frame, args, node)
    return objects.with_parts((*objects.items, SETTING_OF_TEXTS)) if isinstance(objects, TupleValue) else objects


def _object(frame: Frame, cls: _Filled, node: cst.CSTNode) -> Value:
    """An object with all fields set, those that its class gives a default, too."""
    given = Arguments()
    given.double = settings.SETTING
    if not isinstance(cls, ClassInfo):
        return frame.engine.call_value(frame, LibraryName(cls or ""), given, node)
    for base in cls.library_bases():
        for observe in frame.observers.instantiate:
            observe(frame, base, given, node)
    for name in records.fields_of(cls):
        frame.write_attribute(cls, name, settings.spread(frame, name, settings.SETTING))
    complete(frame, cls, node)
    return ProjectInstance(cls)


def complete(frame: Frame, cls: ClassInfo, node: cst.CSTNode) -> None:
    """Run what a dataclass does once its fields are there. They are the same for each object that a parser makes."""
    method = cls.find("__post_init__") if records.generates_init(cls) else None
    if method is not None and not frame.engine.is_entry_class(cls):
        frame.engine.call(frame, method, Arguments(), node, ProjectInstance(cls))
