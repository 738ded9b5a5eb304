"""Tests of names and attributes of which only literals are known: `local_rank != -1` where a call gives -1."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

import libcst as cst

from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import inwards

_ORDER: dict[type[cst.CSTNode], Callable[[float, float], bool]] = {
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
}
_EQUALITY: dict[type[cst.CSTNode], bool] = {cst.Equal: True, cst.Is: True, cst.NotEqual: False, cst.IsNot: False}
_OF_VALUES = (cst.Equal, cst.NotEqual)
_MEMBERSHIP: dict[type[cst.CSTNode], bool] = {cst.In: True, cst.NotIn: False}
UNKNOWN = object()


def tests_around(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """The tests around a node, each with the outcome that leads to it."""
    for outer, inner in inwards(root, node):
        if isinstance(outer, (cst.If, cst.IfExp)) and inner is not outer.test:
            yield outer.test, inner is outer.body


def literal(module: Module, value: cst.BaseExpression | None) -> object:
    """The value of an expression that is a literal; UNKNOWN for another one, or none."""
    if value is None:
        return UNKNOWN
    try:
        return ast.literal_eval(module.tree.code_for_node(value).strip())
    except (SyntaxError, TypeError, ValueError):  # such as `{[]: 1}`
        return UNKNOWN


def outcome(test: cst.BaseExpression, given: Mapping[str, object]) -> bool | None:
    """The outcome of a test of names and attributes with these values; None if it depends on anything else."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            negated = outcome(inner, given)
            return None if negated is None else not negated
        case cst.BooleanOperation(left=left, operator=joined, right=right):
            parts = (outcome(left, given), outcome(right, given))
            decisive = isinstance(joined, cst.Or)
            return decisive if decisive in parts else None if None in parts else not decisive
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=compared, comparator=right)]):
            return _compared(_value(left, given), type(compared), _value(right, given))
    value = _value(test, given)
    return None if value is UNKNOWN else bool(value)


def _compared(left: object, compared: type[cst.CSTNode], right: object) -> bool | None:
    if UNKNOWN in (left, right):
        return None
    if compared in _EQUALITY:
        is_same = left == right and (compared in _OF_VALUES or type(left) is type(right))
        return is_same is _EQUALITY[compared]
    if compared in _MEMBERSHIP:
        if isinstance(right, tuple):
            return (left in right) is _MEMBERSHIP[compared]
        if isinstance(left, str) and isinstance(right, str):
            return (left in right) is _MEMBERSHIP[compared]
    if isinstance(left, (int, float)) and isinstance(right, (int, float)) and compared in _ORDER:
        return _ORDER[compared](left, right)
    return None


def _value(node: cst.BaseExpression, given: Mapping[str, object]) -> object:
    match node:
        case cst.Name("None" | "True" | "False"):
            return {"None": None, "True": True, "False": False}[node.value]
        case cst.Name(name):
            return given.get(name, UNKNOWN)
        case cst.Attribute(value=cst.Name(owner), attr=cst.Name(name)):
            return given.get(f"{owner}.{name}", UNKNOWN)
        case cst.Integer() | cst.Float() | cst.SimpleString():
            return node.evaluated_value
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements):
            parts = tuple(_value(each.value, given) for each in elements)
            return UNKNOWN if UNKNOWN in parts else parts
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() | cst.Float() as number):
            return -number.evaluated_value
    return UNKNOWN
