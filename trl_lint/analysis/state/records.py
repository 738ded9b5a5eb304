"""Records: the fields of a dataclass, a NamedTuple or a pydantic model, in their order.

For example:

    class Scores(NamedTuple):
        loss: torch.Tensor
        accuracy: float

    loss, accuracy = scores               the fields, one by one
    scores._asdict(), asdict(record)      a dict of them

    @dataclass
    class Settings:
        rank: int = field(default_factory=get_rank)
        steps: int = 100

    settings.rank                         the rank, which nobody gives
    settings.steps                        unknown: who makes the settings may give another number
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue, ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, decorators_of
from trl_lint.analysis.program.syntax import keyword_value
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain import ranks
from trl_lint.domain.kinds import StringValue
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge.python import PYDANTIC_MODEL

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


class Field(StringValue):
    """A field as `dataclasses.fields` returns it, of which only the name matters."""

    __slots__ = ()


TUPLE = "typing.NamedTuple"
# Library classes whose subclasses are records.
_BASES = frozenset({TUPLE, PYDANTIC_MODEL})


def fields_of(cls: ClassInfo) -> list[str]:
    """The names of the fields of a class, those of its bases first; empty if it is no record."""
    if not any(map(_is_dataclass, cls.project_lineage())) and _BASES.isdisjoint(cls.library_bases()):
        return []
    found = (name for each in reversed(cls.project_lineage()) for name in _annotated(each.node))
    return list(dict.fromkeys(found))


def annotation_of(cls: ClassInfo, field: str) -> tuple[ClassInfo, cst.BaseExpression | None]:
    """The annotation of a field of a class, and the class that has it; None if none has."""
    found = _declared(cls, field)
    return (cls, None) if found is None else (found[0], found[1].annotation.annotation)


def has_default_factory(cls: ClassInfo, field: str) -> bool:
    """Whether a function makes the value that a field has by default: `field(default_factory=new_name)`."""
    found = _declared(cls, field)
    return found is not None and keyword_value(found[1].value or found[1], "default_factory") is not None


def _declared(cls: ClassInfo, field: str) -> tuple[ClassInfo, cst.AnnAssign] | None:
    for each in cls.project_lineage():
        for line in _fields(each.node):
            if isinstance(line.target, cst.Name) and line.target.value == field:
                return each, line
    return None


def read(frame: Frame, record: ProjectInstance) -> dict[str, Value]:
    """The join of each field over the objects of a class."""
    return {name: _field(frame, record.cls, name) for name in fields_of(record.cls)}


def items_of(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """The items of a NamedTuple; None for anything else."""
    if not isinstance(value, ProjectInstance) or TUPLE not in value.cls.library_bases():
        return None
    return tuple(read(frame, value).values())


def _field(frame: Frame, cls: ClassInfo, name: str) -> Value:
    value = frame.read_attribute(cls, name)
    return value or frame.engine.class_variable(cls, name) or UNKNOWN


def rank_of_factory(frame: Frame, field: cst.AnnAssign) -> Value | None:
    """The rank of this process, if that is what the `default_factory` of a field returns; otherwise None."""
    call = field.value
    if not isinstance(call, cst.Call):
        return None
    given = (each.value for each in call.args if each.keyword is not None and each.keyword.value == "default_factory")
    node = next(given, None)
    factory = UNKNOWN if node is None else frame.engine.settle(frame.engine.evaluate(frame, node))
    if not isinstance(factory, FunctionValue):
        return None
    made = frame.engine.call_value(frame, factory, Arguments(), call)
    return made if made.kind is Kind.NUMBER and made.rank == ranks.RANK_LOCAL else None


def generates_init(cls: ClassInfo) -> bool:
    """Whether a class gets an `__init__` that takes its fields, whatever its bases have."""
    return "__init__" not in cls.methods and _is_dataclass(cls)


def is_named_tuple(cls: ClassInfo) -> bool:
    """Whether a class is a NamedTuple itself."""
    return cls.bases == (TUPLE,)


def _is_dataclass(cls: ClassInfo) -> bool:
    return "dataclass" in decorators_of(cls.node)


def _annotated(node: cst.ClassDef) -> list[str]:
    return [each.target.value for each in _fields(node) if isinstance(each.target, cst.Name)]


def _fields(node: cst.ClassDef) -> list[cst.AnnAssign]:
    lines = [line for line in node.body.body if isinstance(line, cst.SimpleStatementLine)]
    return [each for line in lines for each in line.body if isinstance(each, cst.AnnAssign)]
