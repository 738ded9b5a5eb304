"""What the text of a model's class shows: whether its forward returns what all ranks have reduced or gathered together.

For example, where `Entropy` is a function of autograd whose own forward does the first of these:

    dist.all_reduce(loss); return loss.log().mean()      reduced
    return Entropy.apply(x, y)                           reduced, there
    dist.all_gather(parts, x); return torch.cat(parts)   gathered
    loss = self.entropy(x, y); return 2 * loss           reduced, if `self.entropy = DistEntropy()` is one of these
    return Entropy.apply(x, y) + x.norm()                not: a part of it is this rank's own
    dist.all_reduce(top); return (x - top).mean()        not: what is reduced is only a part of it
    dist.all_gather(parts, x, group); return parts       not: not known to be of all ranks
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import (
    assignments,
    attribute_values,
    is_literal_none,
    last_name,
    of_class,
    self_attribute,
)
from trl_lint.knowledge.schema import Collective
from trl_lint.knowledge.torch_distributed import ROWS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo

_FORWARD = "forward"
# A function of autograd is applied: `Entropy.apply(x)`.
APPLY = "apply"
# The collectives that leave the reduced value in their first argument, on all ranks.
_REDUCE = frozenset(
    row.name.rpartition(".")[2]
    for row in ROWS
    if isinstance(row, Collective) and row.result == "reduced" and row.into == (0, "tensor") and row.root is None
)
# Those that leave there what the ranks of a group have, and what they get if that is not all of them.
_GATHER = frozenset(
    row.name.rpartition(".")[2]
    for row in ROWS
    if isinstance(row, Collective) and row.result == "gathered" and row.into is not None and row.root is None
)
_GROUP = (2, "group")
# They put together the parts of their first argument. Not in torch_ops: names as written, with those of Python.
_JOIN = frozenset({"cat", "concat", "concatenate", "list", "stack", "tuple"})
# How many names, calls and operations are followed.
_MOST_STEPS = 16


@noted_in_file
def is_reduced(cls: ClassInfo) -> bool:
    """Whether each value that the forward of a model returns is one that all ranks have reduced or gathered."""
    forward = cls.find(_FORWARD)
    return forward is not None and returns_reduced(forward)


@noted_in_file
def returns_reduced(function: FunctionInfo) -> bool:
    """Whether a function returns only what all ranks have reduced or gathered."""
    return _returns_reduced(function, _MOST_STEPS)


def _returns_reduced(function: FunctionInfo, steps: int) -> bool:
    returned = [each.value for each in of_class(function.node.body, cst.Return)]
    values = [each for each in returned if each is not None and not is_literal_none(each)]
    return bool(values) and all(_is_of_all(function, each, steps) for each in values)


def _is_of_all(function: FunctionInfo, node: cst.BaseExpression, steps: int) -> bool:
    """Whether an expression of a function is what all ranks reduce or gather, or is computed from such alone."""
    steps -= 1
    if steps < 0:
        return False
    match node:
        case cst.Name():
            values = list(_values_of(function, node.value))
            return _is_exchanged_here(function, node.value) or (
                bool(values) and all(_is_of_all(function, each, steps) for each in values)
            )
        case cst.BinaryOperation():
            sides = [each for each in (node.left, node.right) if not _is_number(each)]
            return bool(sides) and all(_is_of_all(function, each, steps) for each in sides)
        case cst.UnaryOperation():
            return _is_of_all(function, node.expression, steps)
        case cst.Call():
            called = _called(function, node.func)
            if called is not None:
                return _returns_reduced(called, steps)
            if _joins(node):
                return _is_of_all(function, node.args[0].value, steps)
            if isinstance(node.func, cst.Attribute) and all(_is_number(each.value) for each in node.args):
                return _is_of_all(function, node.func.value, steps)  # `loss.log().mean()`
    return False


def _is_number(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.UnaryOperation):
        return _is_number(node.expression)
    return isinstance(node, (cst.Float, cst.Integer))


def _values_of(function: FunctionInfo, name: str) -> Iterator[cst.BaseExpression]:
    """The values that a function gives a variable."""
    for target, value in assignments(function.node.body):
        if isinstance(target, cst.Name) and target.value == name:
            yield value


def _joins(call: cst.Call) -> bool:
    is_known = isinstance(call.func, cst.Name) or last_name(getattr(call.func, "value", None)) == "torch"
    return is_known and last_name(call.func) in _JOIN and bool(call.args)


def _is_exchanged_here(function: FunctionInfo, name: str) -> bool:
    """Whether a function reduces a variable in place, or gathers into it what all ranks have."""
    return any(
        isinstance(call.args[0].value, cst.Name) and call.args[0].value.value == name
        for call in of_class(function.node.body, cst.Call)
        if call.args and (last_name(call.func) in _REDUCE or _gathers_all(call))
    )


def _gathers_all(call: cst.Call) -> bool:
    place, keyword = _GROUP
    given = [each.keyword.value for each in call.args if each.keyword is not None]
    return last_name(call.func) in _GATHER and len(call.args) - len(given) <= place and keyword not in given


def _called(function: FunctionInfo, callee: cst.BaseExpression) -> FunctionInfo | None:
    """The function of the project that a call runs: for a model, and for a function of autograd, its forward."""
    match callee:
        case cst.Name(value=name):
            found = function.module.names.get(name)
            return found.function if isinstance(found, FunctionValue) else None
        case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=attribute)) if attribute == APPLY:
            found = function.module.names.get(name)
            return found.cls.find(_FORWARD) if isinstance(found, ClassValue) else None
    name = self_attribute(callee)
    return None if not name or function.cls is None else _member(function.cls, name)


def _member(cls: ClassInfo, name: str) -> FunctionInfo | None:
    """The method of a class with a name; the forward of the model that it has there, if all that it assigns is one."""
    method = cls.find(name)
    if method is not None:
        return method
    made = {id(found): found for base in cls.project_lineage() for found in _made(base, name)}
    (model, *others) = made.values() or (None,)
    return None if model is None or others else model.find(_FORWARD)


def _made(cls: ClassInfo, name: str) -> Iterator[ClassInfo | None]:
    for attribute, value in attribute_values(cls.node):
        if attribute == name:
            found = cls.module.names.get(last_name(value.func)) if isinstance(value, cst.Call) else None
            yield found.cls if isinstance(found, ClassValue) else None
