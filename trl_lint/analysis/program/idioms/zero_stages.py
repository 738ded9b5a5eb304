"""Conditions on a ZeRO stage that leaves the parameters whole: only stage 3 partitions them.

For example:

    enabled = is_engine and engine.zero_optimization_stage() == 2
    with GatheredParameters(weights, enabled=enabled): …             nothing is gathered
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once, last_name

_PARTITIONS = 3


def leaves_whole(root: cst.CSTNode, test: cst.BaseExpression | None, names: frozenset[str] = frozenset()) -> bool:
    """Whether a condition, or the condition that a name is bound to in `root`, is true at such a stage only.

    names: those that are being followed; `enabled = enabled and stage == 2` leads back to one.
    """
    match test:
        case cst.Name(value=name):
            bound = None if name in names else assigned_once(root, name)
            return not isinstance(bound, cst.Name) and leaves_whole(root, bound, names | {name})
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            return leaves_whole(root, left, names) or leaves_whole(root, right, names)
        case cst.Comparison(
            left=asked, comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=cst.Integer(value=stage))]
        ):
            name = last_name(asked.func if isinstance(asked, cst.Call) else asked)
            return "stage" in name.lower() and int(stage, 0) < _PARTITIONS
    return False
