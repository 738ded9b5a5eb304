"""How a function uses a value: only to show it, or in a way that a gathered value could not replace.

A gathered tensor has no gradient, and a condition on it may have another result. So it replaces a local one only if
that is just shown; a Python number may also be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, last_name, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.fixes.support.node_types import Path
from trl_lint.fixes.support.scope import names_spelled
from trl_lint.fixes.support.tree import text_of
from trl_lint.knowledge.heuristics import COMPUTES_ONLY, KEEPS, SHOWS
from trl_lint.knowledge.torch_ops import DeviceTransfer, ElementTransfer, Operation, of_method

# Methods that keep the value of a tensor, and functions that convert it to a number.
_PASSES_ON = frozenset({ElementTransfer.SAME, ElementTransfer.FLOATS, ElementTransfer.NUMBER})
_TO_NUMBER_FUNCTIONS = frozenset({"float", "int", "round"})
# Nodes that only contain a value, on its way to a call or a name.
_HOLDERS = (cst.Arg, cst.Dict, cst.DictElement, cst.FormattedString, cst.FormattedStringExpression, cst.List,
            cst.Element, cst.Tuple)  # fmt: skip
# What may be computed from a number that is shown.
_COMPUTED = (cst.BinaryOperation, cst.UnaryOperation)


# Whether a value that is bound to a name, or passed to a call, is only shown: the outer node, and the one inside it.
_Followed: TypeAlias = Callable[[cst.CSTNode, cst.CSTNode], bool]


def only_shown(root: cst.CSTNode, name: str, binder: cst.CSTNode | None = None, *, numeric: bool) -> bool:
    """Whether every use of a name in a function shows its value (or keeps it, if it is a Python number).

    binder: the node that binds it, which is not a use.
    """
    uses = [node for node in names_spelled(root, name) if node is not binder]
    return bool(uses) and all(is_shown(ancestors(root, node), node, numeric) for node in uses)


def is_shown(around: Path, node: cst.CSTNode, numeric: bool, followed: _Followed | None = None) -> bool:
    """Whether a use shows a value, or keeps it once it is a number (`numeric`: it is one from the start).

    followed: decides for a number that is bound to another name or passed to a call. Without it, these are not shown.
    """
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
                row = of_method(step)
                if not _keeps_value(row):
                    return False
                numeric = numeric or row.elements is ElementTransfer.NUMBER
            case cst.Call(func=func) if func is inner:
                pass
            case cst.Call(func=func) if last_name(func) in _TO_NUMBER_FUNCTIONS and isinstance(func, cst.Name):
                numeric = True
            case cst.Call(func=cst.Attribute(value=cst.Name(value=library))) if COMPUTES_ONLY.fits(library):
                return False  # its `log` is a logarithm
            case cst.Call(func=func):
                if SHOWS.fits(last_name(func)) or (numeric and KEEPS.fits(last_name(func))):
                    return True
                return numeric and followed is not None and followed(outer, inner)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript())]) if inner is outer.value:
                return numeric
            case cst.Assign(value=cst.Dict()):
                return numeric
            case cst.Assign() | cst.AnnAssign() | cst.AugAssign() if followed is not None and inner is outer.value:
                return numeric and followed(outer, inner)
            case _ if not isinstance(outer, _HOLDERS) and not (numeric and isinstance(outer, _COMPUTED)):
                return False
        inner = outer
    return False


def _keeps_value(row: Operation) -> bool:
    """Whether a method keeps the value of a tensor."""
    return row.elements in _PASSES_ON or row.device is DeviceTransfer.CPU


def read_again(root: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether a function reads, other than to show it, what a statement puts into a dict or list.

    The statement is `d[key] = x`, `d = {…}`, `d.update(…)` or `d.append(x)`, also on an entry of `d`.
    """
    base = container_of(statement)
    if base is None:
        return False
    return _is_read(root, text_of(base), is_name=isinstance(base, cst.Name))


# All logs of a function are queried, entry by entry, and trees are never changed.
@tree_cache(64)
def _is_read(root: cst.CSTNode, text: str, *, is_name: bool) -> bool:
    uses = names_spelled(root, text) if is_name else _attributes(root)[text]
    return any(_reads(ancestors(root, node), node) for node in uses)


@tree_cache(16)
def _attributes(root: cst.CSTNode) -> Mapping[str, Sequence[cst.Attribute]]:
    """The attributes below a node, by their spelling."""
    found: dict[str, list[cst.Attribute]] = {}
    for node in of_class(root, cst.Attribute):
        found.setdefault(text_of(node), []).append(node)
    return found


def container_of(statement: cst.CSTNode) -> cst.Name | cst.Attribute | None:
    """The dict or list that a statement puts something into, as a name or attribute; None if that is not obvious."""
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


@tree_cache(64)
def stays_shown(root: cst.CSTNode, name: str) -> bool:
    """Whether the dict or list `name` of a function is only written to and shown there."""
    uses = names_spelled(root, name)
    return all(_is_written_or_shown(ancestors(root, node), node) for node in uses)


def _is_written_or_shown(around: Path, node: cst.CSTNode) -> bool:
    """Whether a use of a dict or list puts something into it, or shows its contents."""
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


# Functions that take the elements of a container to compute with them. Not in torch_ops: names as written.
_COMPUTING = frozenset({"backward", "cat", "mean", "stack", "sum", "tensor"})
_READING_METHODS = frozenset({"get", "pop", "values"})


def _reads(around: Path, node: cst.CSTNode) -> bool:
    """Whether a use of a dict or list takes out its contents, other than to show them."""
    parent = around[-1] if around else None
    match parent:
        case cst.Subscript(value=value) if value is node:
            above = around[-2] if len(around) > 1 else None
            if isinstance(above, cst.Subscript) and above.value is parent:
                return _reads(around[:-1], parent)  # an entry of an entry
            keeps = isinstance(above, cst.Attribute) and KEEPS.fits(above.attr.value)
            written = keeps or isinstance(above, (cst.AssignTarget, cst.AugAssign, cst.Del))
            return not written and not is_shown(around[:-1], parent, False)
        case cst.Attribute(value=value, attr=cst.Name(value=name)) if value is node:
            return name in _READING_METHODS and not is_shown(around[:-2], around[-2], False)
        case cst.Arg():
            call = around[-2] if len(around) > 1 else None
            return isinstance(call, cst.Call) and last_name(call.func) in _COMPUTING
    return False
