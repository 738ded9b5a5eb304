"""Which attributes of a model are modules that are trained, by the text of its class.

For example:

    self.head = nn.Linear(8, 2)                             is
    self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())   is, as a part of it has parameters
    self.loss = nn.CrossEntropyLoss()                       is not
    self.tower = load(name)                                 is not known to be
    self.tower = nn.Linear(8, 8).requires_grad_(False)      is not
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import names_in, of_class, self_attribute
from trl_lint.knowledge.models import FREEZE, HAVE_PARAMETERS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo


def is_trained_part(cls: ClassInfo, name: str) -> bool:
    """Whether all that a class assigns to `self.name` are modules with parameters, and none is frozen."""
    return cls.module.notes.cached((is_trained_part, cls, name), partial(_is_trained_part, cls, name))


def _is_trained_part(cls: ClassInfo, name: str) -> bool:
    bases = cls.project_lineage()
    if any(name in names_in(line) and FREEZE & names_in(line) for base in bases for line in _lines(base.node)):
        return False
    assigns = (each for base in bases for each in of_class(base.node, cst.Assign))
    assigned = [each.value for each in assigns if any(self_attribute(part.target) == name for part in each.targets)]
    return bool(assigned) and all(HAVE_PARAMETERS & names_in(each) for each in assigned)


def _lines(code: cst.CSTNode) -> list[cst.CSTNode]:
    """The lines of a piece of code, and its loops, in which a line may freeze what the head names."""
    return [*of_class(code, cst.SimpleStatementLine), *of_class(code, cst.For)]
