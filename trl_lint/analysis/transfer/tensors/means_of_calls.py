"""Means that functions return: one for each call, if the function only computes with the tensors that it is passed.

def masked_mean(x, mask): return (x * mask).sum() / mask.sum()
mean_kl = masked_mean(kl, mask)                     a metric
return masked_mean(loss, mask)                      another mean, of what is trained with
def loss_of(batch): return masked_mean(model(batch), batch["mask"])
loss_of(batch).backward()
gather(loss_of(held_out)).mean()                    the training loss, of other data
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import libcst as cst

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.averaging import NO_CALLS, Mean
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import Value
from trl_lint.knowledge import torch_ops
from trl_lint.knowledge.torch import COMPUTING_MODULES, HOST_BUILTINS

# Through how many calls a mean is followed as one of their own.
_MOST_CALLS = 4


def returned(frame: Frame, function: FunctionInfo, node: cst.CSTNode, value: Value) -> Value:
    """A mean that a function returns is attributed to its caller again, and may be another one at each call."""
    fact = value.averaging
    if fact is None:
        return value
    made = [mean for mean in fact.terms if mean.function is function]
    own = {mean: _at_call(frame, mean, node) for mean in made} if made and _only_computes(function) else {}
    if not own and not fact.passed_by:
        return value
    means, terms = (frozenset(own.get(mean, mean) for mean in each) for each in (fact.means, fact.terms))
    return value.replace(averaging=fact._replace(means=means, terms=terms, passed_by=NO_CALLS))


def _at_call(frame: Frame, mean: Mean, node: cst.CSTNode) -> Mean:
    """The mean that a call returns, as one of the caller's."""
    if sum(1 for _ in mean.ways()) > _MOST_CALLS:
        return mean
    frame.engine.note_stored("mean", node, mean.node)
    known = frame.engine.means
    key = (id(mean), id(node))
    if key not in known:
        known[key] = replace(mean, order=len(known), function=frame.function, returned=mean)
    return known[key]


def _only_computes(function: FunctionInfo) -> bool:
    """Whether all that a function calls are operations on tensors and numbers: it runs no model."""
    return function.module.notes.cached((_only_computes, function.node), partial(_calls_operations, function))


def _calls_operations(function: FunctionInfo) -> bool:
    return all(_is_operation(function, call.func) for call in of_class(function.node, cst.Call))


def _is_operation(function: FunctionInfo, callee: cst.BaseExpression) -> bool:
    name, known = last_name(callee), function.module.names
    while isinstance(callee, cst.Attribute):
        callee = callee.value
    owner = known.get(callee.value) if isinstance(callee, cst.Name) else None
    if owner is not None:
        return library_name_of(owner) in COMPUTING_MODULES
    return name in HOST_BUILTINS or torch_ops.operation(name) is not None
