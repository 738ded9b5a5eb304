"""Tests of names and attributes of which only literals are known: `local_rank != -1` where a call gives -1."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import libcst as cst

from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import inwards

_COMPARES: dict[type[cst.CSTNode], Callable[[Any, Any], bool]] = {
    cst.Equal: lambda a, b: a == b,
    cst.NotEqual: lambda a, b: a != b,
    cst.Is: lambda a, b: a is b,
    cst.IsNot: lambda a, b: a is not b,
    cst.GreaterThan: lambda a, b: a > b,
    cst.GreaterThanEqual: lambda a, b: a >= b,
    cst.LessThan: lambda a, b: a < b,
    cst.LessThanEqual: lambda a, b: a <= b,
    cst.In: lambda a, b: a in b,
    cst.NotIn: lambda a, b: a not in b,
}
UNKNOWN = object()


def conditions_around(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
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
    except (SyntaxError, ValueError):
        return UNKNOWN


def outcome(test: cst.BaseExpression, given: Mapping[str, object]) -> bool | None:
    """The outcome of a test of names and attributes with these values; None if it depends on anything else."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            negated = outcome(inner, given)
            return None if negated is None else not negated
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            parts = (outcome(left, given), outcome(right, given))
            decisive = isinstance(operator, cst.Or)
            return decisive if decisive in parts else None if None in parts else not decisive
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            one, two, compare = _value(left, given), _value(right, given), _COMPARES.get(type(operator))
            if compare is None or UNKNOWN in (one, two):
                return None
            try:
                return compare(one, two)
            except TypeError:
                return None
    value = _value(test, given)
    return None if value is UNKNOWN else bool(value)


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
