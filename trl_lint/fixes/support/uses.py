"""How a function uses a value: only to show it, or for more, where one that is gathered could not take its place.

A gathered tensor has no gradient, and a condition on it is another one than before. So it takes the place of a local
one only where that is shown; a Python number may be kept as well.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors
from trl_lint.fixes.support.scope import last_name, nodes
from trl_lint.knowledge.heuristics import COMPUTES_ONLY, KEEPS, SHOWS

# Methods and functions that show no more of a tensor than it is, and those that make it a number.
_HANDS_ON = frozenset({"cpu", "detach", "float"})
_TO_NUMBER = frozenset({"item"})
_TO_NUMBER_FUNCTIONS = frozenset({"float", "int", "round"})
# What only holds a value, on its way to a call or a name.
_HOLDERS = (cst.Arg, cst.Dict, cst.DictElement, cst.FormattedString, cst.FormattedStringExpression, cst.List,
            cst.Element, cst.Tuple)  # fmt: skip
# What may be computed from a number that is shown.
_COMPUTED = (cst.BinaryOperation, cst.UnaryOperation)


def only_shown(root: Any, name: str, binder: Any = None, *, numeric: bool) -> bool:
    """Whether every use of a name in a function shows its value (or keeps it, where it is a Python number).

    binder: the node by which it is bound, which is no use.
    """
    uses = [node for node in nodes(root) if isinstance(node, cst.Name) and node.value == name and node is not binder]
    return bool(uses) and all(_is_shown(ancestors(root, node), node, numeric) for node in uses)


def _is_shown(around: tuple[Any, ...], node: Any, numeric: bool) -> bool:
    inner = node
    for outer in reversed(around):
        match outer:
            case cst.Arg(keyword=keyword) if keyword is node:
                return True  # only the name of an argument
            case cst.Attribute(attr=attr) if attr is node:
                return True  # only the name of an attribute
            case cst.Param(name=name) if name is node:
                return True
            case cst.Attribute(value=receiver, attr=cst.Name(value=step)) if receiver is inner:
                if step not in _HANDS_ON | _TO_NUMBER:
                    return False
                numeric = numeric or step in _TO_NUMBER
            case cst.Call(func=func) if func is inner:
                pass
            case cst.Call(func=func) if last_name(func) in _TO_NUMBER_FUNCTIONS and isinstance(func, cst.Name):
                numeric = True
            case cst.Call(func=cst.Attribute(value=cst.Name(value=library))) if COMPUTES_ONLY.fits(library):
                return False  # its `log` is a logarithm
            case cst.Call(func=func):
                return SHOWS.fits(last_name(func)) or (numeric and KEEPS.fits(last_name(func)))
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript())]) if inner is outer.value:
                return numeric
            case cst.Assign(value=cst.Dict()):
                return numeric
            case _ if not isinstance(outer, _HOLDERS) and not (numeric and isinstance(outer, _COMPUTED)):
                return False
        inner = outer
    return False


def read_again(root: Any, statement: Any) -> bool:
    """Whether a function reads what a statement puts into a dict or a list, other than to show it.

    The statement is `d[key] = x`, `d = {…}`, `d.update(…)` or `d.append(x)`, also on an entry of `d`.
    """
    base = container_of(statement)
    if base is None:
        return False
    code = cst.Module([]).code_for_node
    text = code(base)
    uses = [node for node in nodes(root) if isinstance(node, type(base)) and code(node) == text]
    return any(_reads(ancestors(root, node), node) for node in uses)


def container_of(statement: Any) -> Any:
    """The dict or list that a statement puts something into: a name or an attribute; None when it is not that plain."""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript(value=base))]):
            pass
        case cst.Assign(targets=[cst.AssignTarget(target=base)], value=cst.Dict()):
            pass
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name)))) if KEEPS.fits(name):
            pass
        case _:
            return None
    while isinstance(base, cst.Subscript):
        base = base.value
    return base if isinstance(base, (cst.Name, cst.Attribute)) else None


def stays_shown(root: Any, name: str) -> bool:
    """Whether a dict or list that a function calls `name` is written to and shown there, and goes nowhere else."""
    uses = [node for node in nodes(root) if isinstance(node, cst.Name) and node.value == name]
    return all(_is_written_or_shown(ancestors(root, node), node) for node in uses)


def _is_written_or_shown(around: tuple[Any, ...], node: Any) -> bool:
    parent = around[-1] if around else None
    match parent:
        case cst.AssignTarget():
            return True
        case cst.Arg(keyword=keyword) if keyword is node:
            return True
        case cst.Attribute(attr=attr) if attr is node:
            return True
        case cst.Attribute(value=value, attr=cst.Name(value=method)) if value is node:
            return KEEPS.fits(method) or method in ("clear", "keys")
        case cst.Subscript(value=value) if value is node:
            return not _reads(around, node)
        case cst.Arg():
            call = around[-2]
            return isinstance(call, cst.Call) and SHOWS.fits(last_name(call.func))
    return False


# What takes the elements of a container to compute with them.
_COMPUTING = frozenset({"backward", "cat", "mean", "stack", "sum", "tensor"})
_TAKING = frozenset({"get", "pop", "values"})


def _reads(around: tuple[Any, ...], node: Any) -> bool:
    parent = around[-1] if around else None
    match parent:
        case cst.Subscript(value=value) if value is node:
            above = around[-2] if len(around) > 1 else None
            if isinstance(above, cst.Subscript) and above.value is parent:
                return _reads(around[:-1], parent)  # an entry of an entry
            keeps = isinstance(above, cst.Attribute) and KEEPS.fits(above.attr.value)
            written = keeps or isinstance(above, (cst.AssignTarget, cst.AugAssign, cst.Del))
            return not written and not _is_shown(around[:-1], parent, False)
        case cst.Attribute(value=value, attr=cst.Name(value=name)) if value is node:
            return name in _TAKING and not _is_shown(around[:-2], around[-2], False)
        case cst.Arg():
            call = around[-2] if len(around) > 1 else None
            return isinstance(call, cst.Call) and last_name(call.func) in _COMPUTING
    return False
