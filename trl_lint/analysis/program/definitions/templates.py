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

from functools import partial

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import of_class, self_attribute


def completes(cls: ClassInfo, base: ClassInfo) -> bool:
    """Whether a class defines something, apart from its bases' definitions, that the code of one of its bases uses."""
    return cls.module.notes.cached((completes, cls, base), partial(_completes, cls, base))


def _completes(cls: ClassInfo, base: ClassInfo) -> bool:
    inside = base.project_lineage()
    own = [each for each in cls.project_lineage() if each not in inside]
    defined = {name for each in own for name in (*each.methods, *each.assigned(), *each.variables)}
    return any(not defined.isdisjoint(_used_by(each)) for each in inside)


def _used_by(cls: ClassInfo) -> frozenset[str]:
    """The names of what the methods of a class read or call on their own object."""
    return cls.module.notes.cached((_used_by, cls), partial(_find_used, cls))


def _find_used(cls: ClassInfo) -> frozenset[str]:
    found = (self_attribute(each) for method in cls.methods.values() for each in of_class(method.node, cst.Attribute))
    return frozenset(filter(None, found))
