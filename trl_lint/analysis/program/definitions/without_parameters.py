"""Whether the text of a module's class shows that it has no parameters, as the classes of most losses do.

For example:

    class Margin(nn.Module):                                 has none:
        def __init__(self, margin=0.3, size: int = 2):
            super().__init__()
            self.margin = margin                             by its default, a number
            self.weights = [1.0, 0.5 * size]
            self.loss = nn.TripletMarginLoss(margin)

    self.net = net                                           may have some, for all that is known
    self.register_parameter("scale", scale)                  may have, too
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import (
    attribute_values,
    last_name,
    names_in,
    of_class,
    parts_of_target,
    self_attribute,
)
from trl_lint.knowledge.heuristics import LOSS_CLASS
from trl_lint.knowledge.models import ADDS_MODULES, WITHOUT_FORWARD

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo

_LITERALS = (cst.BaseNumber, cst.BaseString)
_CONSTANTS = frozenset({"False", "None", "True"})
_NO_MODULES = frozenset({"bool", "float", "int", "str"})


@noted_in_file
def has_no_parameters(cls: ClassInfo) -> bool:
    """Whether all that a class and those above it assign to `self` is known to have no parameters."""
    lineage = cls.project_lineage()
    bases = {each for each in cls.lineage() if each not in lineage}
    if not bases or not bases <= WITHOUT_FORWARD:
        return False
    return not any(_may_add(each.node) for each in lineage)


def _may_add(cls: cst.ClassDef) -> bool:
    """Whether the code of a class may add a parameter, or a module that has some."""
    if not ADDS_MODULES.isdisjoint(names_in(cls)):
        return True
    if any(_unpacks_to_self(each.target) for each in of_class(cls, cst.AssignTarget)):
        return True
    plain = frozenset(_plain_parameters(cls))
    return not all(_is_plain(value, plain) for _, value in (*attribute_values(cls), *_annotated(cls)))


def _unpacks_to_self(target: cst.BaseExpression) -> bool:
    return any(self_attribute(part) for part in parts_of_target(target) if part is not target)


def _annotated(cls: cst.ClassDef) -> Iterator[tuple[str, cst.BaseExpression]]:
    for each in of_class(cls, cst.AnnAssign):
        if each.value is not None and self_attribute(each.target):
            yield self_attribute(each.target), each.value


def _plain_parameters(cls: cst.ClassDef) -> Iterator[str]:
    """The parameters of methods that are no modules, by their defaults or annotations."""
    for function in of_class(cls, cst.FunctionDef):
        for each in (*function.params.params, *function.params.kwonly_params):
            declared = each.annotation is not None and last_name(each.annotation.annotation) in _NO_MODULES
            if declared or _is_number_or_text(each.default) or _is_constant(each.default, {"False", "True"}):
                yield each.name.value


def _is_number_or_text(node: cst.BaseExpression | None) -> bool:
    return isinstance(node.expression if isinstance(node, cst.UnaryOperation) else node, _LITERALS)


def _is_constant(node: cst.BaseExpression | None, names: set[str]) -> bool:
    return isinstance(node, cst.Name) and node.value in names


def _is_plain(node: cst.BaseExpression, plain: frozenset[str]) -> bool:
    """Whether a value has no parameters: it is made of numbers and texts, or is a loss of torch.nn."""
    match node:
        case cst.BaseNumber() | cst.BaseString():
            return True
        case cst.Name(name):
            return name in _CONSTANTS or name in plain
        case cst.Attribute():
            return bool(self_attribute(node))
        case cst.BinaryOperation(left=left, right=right):
            return _is_plain(left, plain) and _is_plain(right, plain)
        case cst.UnaryOperation(expression=inner):
            return _is_plain(inner, plain)
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            return all(_is_plain(each.value, plain) for each in elements)
        case cst.Call(
            func=cst.Attribute(value=cst.Name("nn") | cst.Attribute(attr=cst.Name("nn")), attr=cst.Name(name))
        ):
            return LOSS_CLASS.fits(name)
    return False
