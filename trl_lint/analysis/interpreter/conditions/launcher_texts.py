"""Tests for a variable of the launcher that is not set, or empty: with several ranks the size of the job is given.

For example:

    raw = os.environ.get("WORLD_SIZE")
    raw is None, raw == "", raw in (None, "")     false for several ranks, as is `not raw`
    raw = os.environ.get("RANK")
    raw in (None, "")                             the same answer on all ranks: a launcher gives each of them a number
    raw in ("", "0")                              depends on the rank
"""

from __future__ import annotations

import libcst as cst

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


def is_of_launcher(value: Value) -> bool:
    """Whether a value is the text of a variable that a launcher sets to a number."""
    is_one = value.const is WORLD_SIZE or isinstance(value.provenance, LauncherVariable)
    return value.kind is Kind.STRING and is_one


def _is_nothing(node: cst.BaseExpression) -> bool:
    """Whether an expression is None or an empty text, or lists nothing but these."""
    if isinstance(node, _DISPLAYS):
        return bool(node.elements) and all(_is_nothing(each.value) for each in node.elements)
    return isinstance(node, cst.Name | cst.SimpleString) and node.value in ("None", '""', "''")
