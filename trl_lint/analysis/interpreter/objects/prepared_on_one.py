"""Attributes that a method of Lightning's data modules sets which only the first process of each node runs.

For example:

    class Rows(LightningDataModule):
        def prepare_data(self):
            self.rows = load()          run by one process: `rows` is lacking on the others
        def setup(self, stage):
            self.size = len(self.rows)  run by all: those that lack it fail here, also where it is None at first
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.definitions import set_by_text
from trl_lint.analysis.program.definitions.changed_state import is_set_outside_class
from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.program.syntax import (
    attribute_values,
    callee_of,
    has_text,
    is_literal_none,
    is_super,
    of_class,
    parts_of_target,
    self_attribute,
)
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.absence import Absence, Instead
from trl_lint.domain.values import Value
from trl_lint.knowledge.lightning import (
    OLD_PACKAGE,
    PREPARES,
    PREPARES_EVERYWHERE,
    RUN_BY_ALL,
    prepares_on_one,
)


def absence_of(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Absence | None:
    """Why processes lack an attribute that a method reads which all of them run; None if they do not."""
    if value.absence is not None or frame.function is None or frame.function.name not in RUN_BY_ALL:
        return value.absence
    if not prepares_on_one(cls.library_bases()) or frame.engine.versions.get(OLD_PACKAGE) == PREPARES_EVERYWHERE:
        return None
    method, bound = _bindings(cls).get(name, (None, None))
    if method is None or bound is None or _may_have(frame, cls, name) or has_text(frame.function.node, name):
        return None
    text = "only the first process of each node runs this"
    here = frame.step(method.node, text)
    instead = Instead.NONE if name in _set_to_none(cls) else Instead.NOTHING
    return Absence(here, True, frame.step(bound, text, here), instead, test=PREPARES, owner=method)


def _bindings(cls: ClassInfo) -> dict[str, tuple[FunctionInfo, cst.CSTNode]]:
    """The attributes that this method of a class binds, and others to None at most, each with where it does."""
    method = cls.find(PREPARES)
    if method is None or method.cls is not cls.origin:
        return {}
    others = {name for other in cls.project_methods() if other is not method for name in _bound_in(other)}
    others -= _set_to_none(cls)
    return {name: (method, node) for name, node in _bound_in(method).items() if name not in others}


def _set_to_none(cls: ClassInfo) -> set[str]:
    """The attributes that the other methods of a class set to None, and to nothing else."""
    assigned: dict[str, list[bool]] = {}
    for method in cls.project_methods():
        if method.name != PREPARES:
            for name, value in attribute_values(method.node):
                assigned.setdefault(name, []).append(is_literal_none(value))
    return {name for name, are_none in assigned.items() if all(are_none)}


def _bound_in(method: FunctionInfo) -> dict[str, cst.CSTNode]:
    found: dict[str, cst.CSTNode] = {}
    for name, target in attribute_targets(method):
        found.setdefault(name, target)
    return found


def attribute_targets(method: FunctionInfo) -> Iterator[tuple[str, cst.CSTNode]]:
    """The attributes of `self` that a method binds, each as often as it does so, with the targets."""
    targets = [each.target for each in of_class(method.node, cst.AssignTarget)]
    targets += [each.target for each in of_class(method.node, cst.AnnAssign)]
    targets += [each.target for each in of_class(method.node, cst.AugAssign)]
    parts = (part for each in targets for part in parts_of_target(each))
    return ((name, each) for each in parts if (name := self_attribute(each)))


def _may_have(frame: Frame, cls: ClassInfo, name: str) -> bool:
    """Whether an object may have an attribute otherwise: from a base, from outside, or as all call the method."""
    if any(base is None for base in cls.lineage()) or cls.find(name) or cls.find("__getattr__"):
        return True
    if frame.engine.class_variable(cls, name) is not None or is_set_outside_class(cls.module, name):
        return True
    if any(set_by_text.may_set(each.node, name) for each in cls.project_lineage()):
        return True
    return _is_called_by_all(frame.engine.project)


@noted
def _is_called_by_all(project: Project) -> bool:
    """Whether linted files call the method themselves, other than that of a base class: maybe on all processes.

    Unit tests run in one process, and say nothing about a training.
    """
    for path, code in project.linted_code(PREPARES):
        is_used = f".{PREPARES}(".encode() in code and (b"__main__" in code or not is_test_file(path))
        module = project.module(path) if is_used else None
        calls = of_class(module.tree, cst.Call) if module is not None else ()
        for call in calls:
            callee = callee_of(call)
            if isinstance(callee, cst.Attribute) and callee.attr.value == PREPARES and not is_super(callee.value):
                return True
    return False
