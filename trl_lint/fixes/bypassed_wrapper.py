"""The plan for a forward of the module inside a wrapper: the wrapped model is called, if it has a name in reach."""

from __future__ import annotations

from typing import Any

import libcst as cst

from trl_lint.analysis.events import ModelCalled
from trl_lint.domain.values import TRAINED
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.scope import bound, bound_names, dotted, last_name, nodes
from trl_lint.knowledge import models

_PART = "a part of the model is called: only its author can say how the wrapper's forward should run it"
_OUT_OF_REACH = "no name of the wrapped model is in reach"
_CHANGES_TRAINING = "it changes what is trained: the gradients are synchronised from then on"
_UNWRAPS = frozenset({"extract_model_from_parallel", "unwrap_model"})


class BypassedWrapperFix(RuleFix[ModelCalled]):
    title = "Call the wrapped model"
    communication = "the wrapper's forward communicates"
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: ModelCalled) -> FixPlan | NoFix:
        """How to call the wrapped model instead, or why that is left to the author."""
        if event.path or not isinstance(event.node, cst.Call):
            return NoFix(_PART)
        callee: Any = event.node.func
        if isinstance(callee, cst.Attribute) and callee.attr.value in models.FORWARDS:
            callee = callee.value
        root = event.owner.node if event.owner is not None else event.module.tree
        wrapped = _wrapped_name(event, root, callee)
        if wrapped is None:
            return NoFix(_OUT_OF_REACH if _is_whole(root, callee) else _PART)
        return FixPlan((Replace(event.node.func, cst.Name(wrapped)),), caution=_CHANGES_TRAINING)

    def uniformity(self, event: ModelCalled) -> int:
        """A training step is run by all ranks, unless it is known that it isn't."""
        return event.control.level if event.control.level > 1 else 0


def _wrapped_name(event: ModelCalled, root: Any, callee: Any) -> str | None:
    """The name of the model that holds the one that is called."""
    known = dict(event.names)
    source = _source(root, callee)
    holder = _holder(source)
    if holder is not None:
        return holder if holder in known and _times_bound(root, holder) <= 1 else None
    if dotted(source) == "self.model" and event.model.data == TRAINED:
        names = [name for name, value in known.items() if value.data == TRAINED and not _times_bound(root, name)]
        return names[0] if len(names) == 1 else None
    return None


def _source(root: Any, callee: Any) -> Any:
    """The expression that a name was bound to, if that was done once; else the expression as it is."""
    if not isinstance(callee, cst.Name) or _times_bound(root, callee.value) != 1:
        return callee
    for node in nodes(root):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value) if name == callee.value:
                return value
    return callee


def _times_bound(root: Any, name: str) -> int:
    """How often a function binds a name, its parameters apart."""
    body = root.body
    if name not in bound_names(body):
        return 0
    return sum(isinstance(target, cst.Name) and target.value == name for target in bound(body)) or 2


def _holder(source: Any) -> str | None:
    """The `model` in `accelerator.unwrap_model(model)` and in `model.module`."""
    match source:
        case cst.Call(func=func, args=[cst.Arg(value=cst.Name(name), star=""), *_]) if last_name(func) in _UNWRAPS:
            return name
        case cst.Attribute(value=cst.Name(name), attr=cst.Name("module")):
            return name
    return None


def _is_whole(root: Any, callee: Any) -> bool:
    source = _source(root, callee)
    return last_name(source) in ("model", "module") or _holder(source) is not None or isinstance(source, cst.Name)
