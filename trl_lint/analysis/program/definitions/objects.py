"""Values for what a project defines: its functions, its classes, and their instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from trl_lint.domain import ranks
from trl_lint.domain.choices import OwnInstance
from trl_lint.domain.kinds import LibraryInstance, LibraryName, ModelRole, ModelValue, PreparedObject, ProjectName
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.engines import ENGINE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.domain.kinds import InstanceValue
    from trl_lint.domain.values import Facts


class FunctionValue(Value):
    __slots__ = ("function",)
    kind = Kind.FUNCTION
    parts: ClassVar[dict[str, object]] = {"function": None}

    def __init__(self, function: FunctionInfo, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.function = function


class ClassValue(Value):
    __slots__ = ("cls",)
    kind = Kind.CLASS
    parts: ClassVar[dict[str, object]] = {"cls": None}

    def __init__(self, cls: ClassInfo, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.cls = cls


class ProjectInstance(OwnInstance):
    """An instance of a class of the project."""

    __slots__ = ("cls",)
    parts: ClassVar[dict[str, object]] = {"cls": None}

    def __init__(self, cls: ClassInfo, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.cls = cls

    def either(self, other: InstanceValue) -> InstanceValue | None:
        from trl_lint.analysis.program.project.either_site import either  # which needs libcst

        if not (isinstance(other, ProjectInstance) and other.cls.origin is self.cls.origin):
            return None
        return self.with_parts(either(self.cls, other.cls))

    def library_bases(self) -> tuple[str, ...]:
        return self.cls.library_bases()


class ProjectModel(ModelValue):
    """A model whose class is defined in the project."""

    __slots__ = ("cls",)
    parts: ClassVar[dict[str, object]] = {"role": ModelRole.OTHER, "cls": None}

    def __init__(self, cls: ClassInfo, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.cls = cls


class PreparedModel(PreparedObject):
    """The result of `accelerator.prepare` for a model of a project's class that has no forward of its own."""

    __slots__ = ("cls",)
    parts: ClassVar[dict[str, object]] = {"cls": None}

    def __init__(self, cls: ClassInfo, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.cls = cls


class EngineOfModel(LibraryInstance):
    """An engine of DeepSpeed that runs a model of a project's class."""

    __slots__ = ("cls",)
    parts: ClassVar[dict[str, object]] = {"name": ENGINE, "cls": None}

    def __init__(self, cls: ClassInfo, **facts: Unpack[Facts]) -> None:
        super().__init__(ENGINE, ranks.UNKNOWN, **facts)
        self.cls = cls

    def either(self, other: InstanceValue) -> InstanceValue | None:
        is_engine = isinstance(other, LibraryInstance) and other.name == self.name
        return self.as_a(LibraryInstance).with_parts(self.name) if is_engine else None


def class_of(value: Value | None) -> ClassInfo | None:
    """The project's class that a value is, or is an instance of; None for any other value."""
    return value.cls if isinstance(value, (ClassValue, ProjectInstance, ProjectModel)) else None


def class_names(value: Value | None) -> list[str]:
    """The last parts of the names of the classes in the second argument of isinstance; empty if one is unknown."""
    names = []
    for option in () if value is None else items_or_itself(value):
        if isinstance(option, LibraryName):
            names.append(option.name.rpartition(".")[2])
        elif isinstance(option, ProjectName) and option.name is not None:
            names.append(option.name)  # defined in another file of the project, which need not be parsed for this
        elif isinstance(option, ClassValue):
            names.append(option.cls.name)
        else:
            return []
    return names
