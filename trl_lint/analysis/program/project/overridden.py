"""Methods that never run on the objects of a class, because it, or a class between, has its own instead.

For example:

    class Base:
        def setup(self): self.net = DDP(self.net)
    class Single(Base):
        def setup(self): self.net.eval()                    `Base.setup` never runs on a `Single`
    class Logged(Base):
        def setup(self): super().setup(); self.log()        it runs on a `Logged`, as on one of `Base.setup(self)`

A constructor that calls none of its bases' is left to `ClassInfo.attribute`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import calls_super, last_name, of_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trl_lint.analysis.program.project.classes import ClassInfo


def overridden_methods(cls: ClassInfo) -> frozenset[int]:
    """The methods of the bases of a class that never run on its objects, by the ids of their nodes."""
    lineage = cls.project_lineage()
    if len(lineage) == 1:
        return frozenset()
    return cls.notes.cached(overridden_methods, lambda: frozenset(_overridden(lineage)))


def _overridden(lineage: Sequence[ClassInfo]) -> list[int]:
    found = []
    for place, base in enumerate(lineage):
        heirs = [each for each in lineage[:place] if base in each.project_lineage()]
        for name, method in base.methods.items():
            is_replaced = name != "__init__" and any(name in each.methods for each in heirs)
            if is_replaced and not any(_may_call(each.node, base.name, name) for each in lineage):
                found.append(id(method.node))
    return found


def _may_call(cls: cst.ClassDef, base: str, name: str) -> bool:
    """Whether the code of a class calls a method of a base that it overrides, as `super().name()` or `Base.name`."""
    if calls_super(cls, name):
        return True
    reads = (each for each in of_class(cls, cst.Attribute) if each.attr.value == name)
    return any(last_name(each.value) == base for each in reads)
