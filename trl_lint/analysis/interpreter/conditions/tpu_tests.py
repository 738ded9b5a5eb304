"""Conditions on whether the job runs on TPUs, where Accelerate wraps no model."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import BARE_FALSE, BARE_TRUE, BareRun
from trl_lint.domain.kinds import library_name_of
from trl_lint.knowledge.backends import BARE_KINDS

# By class, because `isinstance` takes ten times as long for LibCST nodes.
_HOLDS_FOR = frozenset({cst.Equal, cst.Is, cst.In})
_HOLDS_NOT_FOR = frozenset({cst.NotEqual, cst.IsNot, cst.NotIn})
_SEVERAL = frozenset({cst.Tuple, cst.List, cst.Set})


def is_on_tpu(frame: Frame, test: cst.CSTNode, outcome: bool) -> bool:
    """Whether `accelerator.distributed_type == DistributedType.TPU` holds if a test has this outcome."""
    if type(test) is cst.BooleanOperation and type(test.operator) is (cst.And if outcome else cst.Or):
        return is_on_tpu(frame, test.left, outcome) or is_on_tpu(frame, test.right, outcome)
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return is_on_tpu(frame, test.expression, not outcome)
    return frame.value_of(test).const is (BARE_TRUE if outcome else BARE_FALSE)


def for_bare_runs(frame: Frame, test: cst.Comparison) -> BareRun | None:
    """The result of a comparison with kinds of run in which Accelerate wraps no model; None for other comparisons."""
    comparison = test.comparisons[0]
    holds = type(comparison.operator) in _HOLDS_FOR
    if len(test.comparisons) != 1 or not (holds or type(comparison.operator) in _HOLDS_NOT_FOR):
        return None
    compared = comparison.comparator
    elements: Sequence[cst.BaseElement] = getattr(compared, "elements", ()) if type(compared) in _SEVERAL else ()
    options = [element.value for element in elements] or [compared]
    if not all(_is_bare_kind(frame, option) for option in options):
        return None
    return BARE_TRUE if holds else BARE_FALSE


def _is_bare_kind(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression is a kind of distributed run in which Accelerate wraps no model."""
    if type(node) is not cst.Attribute or node.attr.value not in BARE_KINDS:
        return False
    return library_name_of(frame.engine.evaluate(frame, node)).endswith(f"DistributedType.{node.attr.value}")
