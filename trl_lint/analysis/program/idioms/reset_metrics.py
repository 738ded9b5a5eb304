"""Metrics of torchmetrics by their use: an object of unknown class of which code takes the result, and resets it.

for metric in metrics:          in a file that imports torchmetrics
    log(metric.compute())       all ranks add up what they have counted
    metric.reset()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import of_class
from trl_lint.knowledge.evaluation import IMPORTS, WITHOUT_SYNCHRONISATION

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

_RESULT, _RESET = "compute", "reset"
_ALONE = rb"|".join(each.encode() for each in sorted(WITHOUT_SYNCHRONISATION))


def is_metric(module: Module, root: cst.CSTNode, name: str, node: cst.CSTNode) -> bool:
    """Whether a call of a method, in this function, is that of a metric which synchronises with all ranks."""
    if name != _RESULT or not module.mentions(IMPORTS) or module.mentions(_ALONE):
        return False
    match node:
        case cst.Call(func=cst.Attribute(value=metric), args=[]):
            return any(_resets(each, metric) for each in of_class(root, cst.Call))
    return False


def _resets(call: cst.Call, metric: cst.BaseExpression) -> bool:
    match call:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value)), args=[]) if value == _RESET:
            return owner.deep_equals(metric)
    return False
