"""Tests of a launcher's variable that don't depend on its number: whether it is set, or is something else than a text.

For example:

    raw = os.environ.get("WORLD_SIZE")
    raw is None, raw == "", raw in (None, "")     false for several ranks, as is `not raw`
    raw = os.environ.get("RANK")
    raw in (None, "")                             the same answer on all ranks: a launcher gives each of them a number
    raw in ("", "0")                              depends on the rank
    os.environ.get("RANK", 0) == 0                false on each rank that a launcher starts: "0" is not 0
    os.environ.get("RANK", -1) in (-1, 0)         likewise

The first process of Lightning has no such variable before it starts the others, which all have one: what a test with a
number selects there is what runs once, before `fit`.
Source: lightning/fabric/strategies/launchers/subprocess_script.py `_SubprocessScriptLauncher._call_children_scripts`
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import WORLD_FALSE, WORLD_SIZE, WORLD_TRUE
from trl_lint.domain.kinds import NumberValue, flag
from trl_lint.domain.provenance import LauncherVariable
from trl_lint.domain.values import Kind, Value

# How a test asks for a text that is nothing, and how for one that is something.
_NOTHING = frozenset({cst.Equal, cst.In, cst.Is})
_SOMETHING = frozenset({cst.IsNot, cst.NotEqual, cst.NotIn})
_DISPLAYS = (cst.List, cst.Set, cst.Tuple)


def decided(node: cst.Comparison, left: Value) -> NumberValue | None:
    """The value of a comparison that only asks whether a launcher's variable holds anything; None for all others.

    left: the value of the left side.
    """
    if not is_of_launcher(left) or len(node.comparisons) != 1:
        return None
    is_size = left.const is WORLD_SIZE
    target = node.comparisons[0]
    operator = type(target.operator)
    if operator not in _NOTHING | _SOMETHING or not _is_nothing(target.comparator):
        return None
    if not is_size:
        return flag()
    return flag(WORLD_FALSE if operator in _NOTHING else WORLD_TRUE)


def compared_with_number(frame: Frame, left: Value, operator: type, right: Value) -> NumberValue | None:
    """The value of a comparison of a launcher's text with numbers, none of which it equals; None for all others."""
    if operator not in _NOTHING | _SOMETHING:
        return None
    if operator in (cst.In, cst.NotIn):
        items = containers.positions_of(frame, right) if is_of_launcher(left) else None
        is_with_number = bool(items) and all(each.const in (None, "") or _is_number(each) for each in items or ())
    else:
        is_with_number = (is_of_launcher(left) and _is_number(right)) or (_is_number(left) and is_of_launcher(right))
    return flag(WORLD_FALSE if operator in _NOTHING else WORLD_TRUE) if is_with_number else None


def _is_number(value: Value) -> bool:
    """Whether a value is a number, or a truth value, that is written in the code."""
    return isinstance(value.const, int)


def is_of_launcher(value: Value) -> bool:
    """Whether a value is the text of a variable that a launcher sets to a number."""
    is_one = value.const is WORLD_SIZE or isinstance(value.provenance, LauncherVariable)
    return value.kind is Kind.STRING and is_one


def _is_nothing(node: cst.BaseExpression) -> bool:
    """Whether an expression is None or an empty text, or lists nothing but these."""
    if isinstance(node, _DISPLAYS):
        return bool(node.elements) and all(_is_nothing(each.value) for each in node.elements)
    return isinstance(node, cst.Name | cst.SimpleString) and node.value in ("None", '""', "''")
