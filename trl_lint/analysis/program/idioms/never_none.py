"""Expressions of a function that are never None: a number that it counts with, or the result of a calculation.

For example:

    step = 0
    for batch in loader:
        step += 1
        save(model, step)                 a number; so are `step + 1` and `int(step)`
    best = None
    for batch in loader:
        best = loss.item()
        save(model, best)                 unknown: it was None first
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import bindings
from trl_lint.analysis.program.syntax import ancestors, nonlocal_names, of_class

# Not in torch_ops: Python functions whose results are there, and those that number the iterations of a loop.
_RETURN_SOMETHING = frozenset({"float", "int", "len", "round", "str"})
_COUNT, _NUMBER = "range", "enumerate"


def is_never_none(root: cst.CSTNode, expression: cst.CSTNode | None) -> bool:
    """Whether an expression in a function, or a module, is known not to be None."""
    match expression:
        case cst.BinaryOperation() | cst.Integer() | cst.Float() | cst.FormattedString() | cst.SimpleString():
            return True
        case cst.Call(func=cst.Name(name)):
            return name in _RETURN_SOMETHING
        case cst.Name(name):
            return _is_counted(root, name)
    return False


def _is_counted(root: cst.CSTNode, name: str) -> bool:
    """Whether all that a function binds a name of its own to are numbers, as it counts with it."""
    if name in nonlocal_names(root) or any(each.name.value == name for each in of_class(root, cst.Param)):
        return False
    found = list(bindings(root, cst.Name(name)))
    return bool(found) and all(_counts(root, each, name) for each in found)


def _counts(root: cst.CSTNode, binding: cst.CSTNode, name: str) -> bool:
    """Whether a statement, or its target, binds a name to a number."""
    match binding:
        case cst.AugAssign():
            return True
        case cst.AssignTarget(target=cst.Name()):
            return any(
                isinstance(each, cst.Assign) and _is_number(each.value) for each in ancestors(root, binding)[-1:]
            )
        case cst.AnnAssign(value=value):
            return value is None or _is_number(value)
        case cst.For(target=target, iter=cst.Call(func=cst.Name(function))) if function == _COUNT:
            return isinstance(target, cst.Name)
        case cst.For(target=cst.Tuple([cst.Element(cst.Name(first)), *_]), iter=cst.Call(func=cst.Name(function))):
            return function == _NUMBER and first == name
    return False


def _is_number(value: cst.BaseExpression) -> bool:
    return isinstance(value, (cst.Integer, cst.Float, cst.BinaryOperation))
