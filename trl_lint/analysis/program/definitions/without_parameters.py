"""Whether the text of a module's class shows that it has no parameters, as those of most losses do, or no buffers.

For example:

    class Margin(nn.Module):                                 has none:
        def __init__(self, margin=0.3, size: int = 2):
            super().__init__()
            self.margin = margin                             by its default, a number
            self.weights = [1.0, 0.5 * size]
            self.loss = nn.TripletMarginLoss(margin)

    self.net = net                                           may have some, for all that is known
    self.register_parameter("scale", scale)                  may have, too
    self.layer = nn.Linear(size, 2)                          has some, but no buffers
    self.norm = nn.BatchNorm1d(size)                         has both
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
from trl_lint.knowledge.models import (
    ADDS_BUFFERS,
    ADDS_MODULES,
    HAVE_PARAMETERS,
    WITHOUT_BUFFERS,
    WITHOUT_FORWARD,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo

_LITERALS = (cst.BaseNumber, cst.BaseString)
_CONSTANTS = frozenset({"False", "None", "True"})
_NO_MODULES = frozenset({"bool", "float", "int", "str"})


@noted_in_file
def has_no_parameters(cls: ClassInfo) -> bool:
    """Whether all that a class and those above it assign to `self` is known to have no parameters."""
    return _has_only(cls, frozenset(), ADDS_MODULES)


@noted_in_file
def has_no_buffers(cls: ClassInfo) -> bool:
    """Whether all that they assign is known not to have buffers, and some of it has parameters, or nothing wraps it."""
    if not _has_only(cls, WITHOUT_BUFFERS, ADDS_MODULES | ADDS_BUFFERS):
        return False
    given = (value for each in cls.project_lineage() for _, value in attribute_values(each.node))
    return any(_is_one_of(value, HAVE_PARAMETERS) for value in given)


def _has_only(cls: ClassInfo, layers: Collection[str], adding: Collection[str]) -> bool:
    """Whether a module has no parts but losses, some layers, and numbers. adding: names of what may add others."""
    lineage = cls.project_lineage()
    bases = {each for each in cls.lineage() if each not in lineage}
    if not bases or not bases <= WITHOUT_FORWARD:
        return False
    return not any(_may_add(each.node, layers, adding) for each in lineage)


def _may_add(cls: cst.ClassDef, layers: Collection[str], adding: Collection[str]) -> bool:
    """Whether the code of a class may add something else, or a module that has it."""
    if not names_in(cls).isdisjoint(adding):
        return True
    if any(_unpacks_to_self(each.target) for each in of_class(cls, cst.AssignTarget)):
        return True
    plain = frozenset(_plain_parameters(cls))
    given = (value for _, value in (*attribute_values(cls), *_annotated(cls)))
    return not all(_is_plain(each, plain) or _is_one_of(each, layers) for each in given)


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
    return LOSS_CLASS.fits(_layer(node))


def _is_one_of(node: cst.BaseExpression, layers: Collection[str]) -> bool:
    return _layer(node) in layers


def _layer(node: cst.BaseExpression) -> str:
    """The name of the class of torch.nn that an expression makes an object of; "" for anything else."""
    match node:
        case cst.Call(
            func=cst.Attribute(value=cst.Name("nn") | cst.Attribute(attr=cst.Name("nn")), attr=cst.Name(name))
        ):
            return name
    return ""
