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
# What a comparison is from the other side, and those that hold for all larger numbers, once they hold for one.
_MIRRORED: dict[type[cst.CSTNode], type[cst.CSTNode]] = {
    cst.GreaterThan: cst.LessThan,
    cst.GreaterThanEqual: cst.LessThanEqual,
    cst.LessThan: cst.GreaterThan,
    cst.LessThanEqual: cst.GreaterThanEqual,
}
_GROWS = frozenset({cst.GreaterThan, cst.GreaterThanEqual})
_EQUALITY: dict[type[cst.CSTNode], bool] = {cst.Equal: True, cst.Is: True, cst.NotEqual: False, cst.IsNot: False}
_OF_VALUES = (cst.Equal, cst.NotEqual)
_MEMBERSHIP: dict[type[cst.CSTNode], bool] = {cst.In: True, cst.NotIn: False}
UNKNOWN = object()
# A number of things: it is not known, but it is not negative.
COUNT = object()


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
    return None if value is UNKNOWN or value is COUNT else bool(value)


def read_name(node: cst.CSTNode) -> str:
    """The name by which `outcome` is given what a test reads: `n`, `args.n`, `self.args.n`, `getattr(args, "n", 0)`."""
    match node:
        case cst.Name(name):
            return name
        case cst.Attribute(value=owner, attr=cst.Name(name)):
            return f"{around}.{name}" if (around := read_name(owner)) else ""
        case cst.Call(func=cst.Name("getattr"), args=[cst.Arg(owner), cst.Arg(cst.SimpleString() as text), *_]) if (
            around := read_name(owner)
        ):
            return f"{around}.{text.raw_value}"
    return ""


def _compared(left: object, compared: type[cst.CSTNode], right: object) -> bool | None:
    if UNKNOWN in (left, right):
        return None
    if COUNT in (left, right):
        return _counted(left, compared, right)
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


def _counted(left: object, compared: type[cst.CSTNode], right: object) -> bool | None:
    """The outcome of a comparison with a number that is 0 or more, where it is the same for each of them."""
    if left is not COUNT:
        left, compared, right = right, _MIRRORED.get(compared, compared), left
    if not isinstance(right, (int, float)) or compared not in _ORDER:
        return None
    smallest = _ORDER[compared](0, right)
    return smallest if smallest is (compared in _GROWS) else None


def _value(node: cst.BaseExpression, given: Mapping[str, object]) -> object:
    match node:
        case cst.Name("None" | "True" | "False"):
            return {"None": None, "True": True, "False": False}[node.value]
        case cst.Name(name):
            return given.get(name, UNKNOWN)
        case cst.Attribute() | cst.Call():
            return given.get(read_name(node), UNKNOWN)
        case cst.Integer() | cst.Float() | cst.SimpleString():
            return node.evaluated_value
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements):
            parts = tuple(_value(each.value, given) for each in elements)
            return UNKNOWN if UNKNOWN in parts else parts
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() | cst.Float() as number):
            return -number.evaluated_value
    return UNKNOWN
