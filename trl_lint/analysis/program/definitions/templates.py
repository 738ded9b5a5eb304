"""Bases whose methods use what a subclass defines.

For example:

    class Base:
        def train(self):
            loss = self.step(batch)         which `step` depends on the class of the object
            self.model.eval()               and which model
        def step(self, batch): raise NotImplementedError
    class Derived(Base):                    completes `Base`
        def step(self, batch): …
    class Loaded(Base):                     does as well
        def __init__(self):
            self.model = load()
    class Renamed(Base):                    does not
        def title(self): …
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import of_class, self_attribute

CONSTRUCTOR = "__init__"


@noted_in_file
def completes(cls: ClassInfo, base: ClassInfo) -> bool:
    """Whether a class defines something, apart from its bases' definitions, that the code of one of its bases uses."""
    inside = base.project_lineage()
    own = [each for each in cls.project_lineage() if each not in inside]
    defined = frozenset[str]().union(*map(_defined_in, own))
    return any(not defined.isdisjoint(_used_by(each)) for each in inside)


@noted_in_file
def fills(cls: ClassInfo, base: ClassInfo) -> bool:
    """Whether a class defines a method that is empty in one of its bases and that the code of this base calls."""
    inside = base.project_lineage()
    own = [each for each in cls.project_lineage() if each not in inside]
    defined = {name for each in own for name in each.methods}
    empty = {name for name in defined if (method := base.find(name)) is not None and method.is_open}
    return any(not empty.isdisjoint(_used_by(each)) for each in inside)


@noted_in_file
def inherited_by(cls: ClassInfo) -> tuple[FunctionInfo, ...]:
    """The inherited methods that use what a class defines, directly or through other methods; the constructor first."""
    using = {name for name in _defined_in(cls) if name != CONSTRUCTOR}
    above = {name: method for base in reversed(cls.project_lineage()[1:]) for name, method in base.methods.items()}
    inherited = [method for name, method in above.items() if name not in cls.methods and not method.is_open]
    used = {method: _used_in(method) for method in inherited}
    while more := {method.name for method in inherited if not used[method].isdisjoint(using)} - using:
        using |= more
    found = [method for method in inherited if method.name in using]
    return tuple(sorted(found, key=lambda method: method.name != CONSTRUCTOR))


def _defined_in(cls: ClassInfo) -> frozenset[str]:
    return frozenset((*cls.methods, *cls.assigned(), *cls.variables))


@noted_in_file
def _used_by(cls: ClassInfo) -> frozenset[str]:
    """The names of what the methods of a class read or call on their own object."""
    return frozenset[str]().union(*map(_used_in, cls.methods.values()))


def _used_in(method: FunctionInfo) -> frozenset[str]:
    return frozenset(filter(None, map(self_attribute, of_class(method.node, cst.Attribute))))
