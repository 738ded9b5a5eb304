"""Flags, and things that may be None, that the constructor of a class is passed and keeps, and that nothing changes.

For example:

    class Ranker:
        def __init__(self, write=False):
            self.write = write          all objects that are made in one place keep the flag that they are made with
        def rank(self):
            if self.write: …            Ranker(write=False).rank() does not get here
    ranker.write = True                 unless code of the project sets it on an object
    class Meters:
        def __init__(self, file=None):
            self.file = file            None for the objects that are made without one
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.changed_state import is_set_outside_any_class
from trl_lint.analysis.program.definitions.construction import CONSTRUCTOR
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import attribute_values, of_class, self_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trl_lint.analysis.program.project.classes import ClassInfo, Parameter
    from trl_lint.analysis.program.project.project import Project

_LITERALS = frozenset({"False", "None", "True"})
# What sets attributes of which the names are not written out.
_ATTRIBUTES = "__dict__"
_SET_ANY = frozenset({_ATTRIBUTES, "setattr", "vars"})


def flags_of(project: Project, cls: ClassInfo) -> frozenset[str]:
    """The attributes of the objects of a class that are such flags."""
    return frozenset(name for name in _kept(cls) if not is_set_outside_any_class(project, name))


def _kept(cls: ClassInfo) -> frozenset[str]:
    """The attributes that only the constructor sets, once, to a parameter that is True, False or None by default."""
    return frozenset(name for name, each in kept_parameters(cls).items() if _is_flag(each.default))


@noted_in_file
def kept_parameters(cls: ClassInfo) -> Mapping[str, Parameter]:
    """The parameters of the constructor, by the attribute that only it sets, once and always, to one of them."""
    init = cls.methods.get(CONSTRUCTOR)
    if init is None or _may_set_any(cls.node):
        return {}
    parameters = {each.name: each for each in init.parameters[1:] if not each.star}
    given = {
        name: parameters[value.value]
        for name, value in attribute_values(init.node)
        if isinstance(value, cst.Name) and value.value in parameters
    }
    targets = list(_targets(cls.node)) if given else []
    return {name: each for name, each in given.items() if name in cls.certain_attributes() and targets.count(name) == 1}


def _may_set_any(node: cst.CSTNode) -> bool:
    """Whether code may set attributes of which the names are not written out; reading some in `__dict__` sets none."""
    used = sum(each.value in _SET_ANY for each in of_class(node, cst.Name))
    read = sum(_is_dict(each.comparator) for each in of_class(node, cst.ComparisonTarget))
    targets = {id(each.target) for each in of_class(node, cst.AssignTarget)}
    targets |= {id(each.target) for each in of_class(node, cst.AugAssign)}
    targets |= {id(each.target) for each in of_class(node, cst.Del)}
    items = of_class(node, cst.Subscript)
    return used > read + sum(_is_dict(each.value) and id(each) not in targets for each in items)


def _is_dict(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == _ATTRIBUTES


def _is_flag(default: cst.BaseExpression | None) -> bool:
    return isinstance(default, cst.Name) and default.value in _LITERALS


def _targets(node: cst.CSTNode) -> Iterator[str]:
    """The attributes of `self` that a piece of code sets, changes or deletes."""
    targets: list[cst.CSTNode] = [each.target for each in of_class(node, cst.AssignTarget)]
    targets += [each.target for each in of_class(node, cst.AnnAssign)]
    targets += [each.target for each in of_class(node, cst.AugAssign)]
    targets += [each.target for each in of_class(node, cst.For)]
    for target in (*targets, *of_class(node, cst.Del)):
        yield from map(self_attribute, of_class(target, cst.Attribute))
