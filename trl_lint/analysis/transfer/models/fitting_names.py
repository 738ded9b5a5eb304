"""Whether the names in a state dict fit a model on each way on which several processes run.

state dict of       loaded into
the wrapper         the wrapper                           they fit
the wrapper         the bare model                        they do not: `module.layer.weight`, `layer.weight`
the bare model      the wrapper                           they do not
`if ddp: … DDP`     the same, where that is not tested    they fit: both are wrapped, or none is
`if ddp: … DDP`     the bare model                        they do not in a run with the wrapper
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.handled_errors import is_caught
from trl_lint.analysis.program.syntax import ancestors, definitions_around, of_class
from trl_lint.analysis.transfer.models.named_weights import asks_for_wrapper, wrapping_of_weights
from trl_lint.domain.provenance import Step, WrappedWhere, steps
from trl_lint.domain.state_dicts import StateDict, StateTaken
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge.models import INNER_MODEL

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo

_PREFIX = f"{INNER_MODEL}."
# What torch raises for names that do not fit.
_ERRORS = frozenset({"BaseException", "Exception", "RuntimeError"})


def taken_at(state: StateDict) -> StateTaken | None:
    """Where a state dict was taken from its model."""
    return next((each for each in reversed(steps(state.provenance)) if isinstance(each, StateTaken)), None)


def have_other_names(
    root: cst.CSTNode, function: FunctionInfo | None, call: cst.CSTNode, model: Value, state: StateDict
) -> bool:
    """Whether a model and a state dict have other names on a way on which several processes run.

    root: the code of the function in which the model loads it.
    """
    wrapping, taken = wrapping_of_weights(model), taken_at(state)
    if taken is None:
        return False
    if state.owner is Wrapping.WRAPPED:
        return wrapping.is_bare
    if state.owner is Wrapping.MAYBE:
        condition = _condition(taken)
        return wrapping.is_bare and condition is not None and _is_bare_beside(root, function, call, model, condition)
    if wrapping is Wrapping.MAYBE:
        return state.owner is Wrapping.UNWRAPPED or _is_taken_anyway(taken, _condition(model.provenance))
    return wrapping is Wrapping.WRAPPED


def allows_for_both(root: cst.CSTNode, call: cst.CSTNode, taken: Step) -> bool:
    """Whether code may expect names that do not fit: it names the prefix, or tries it the other way."""
    around = ancestors(root, call)
    is_tried = is_caught(root, call, _ERRORS) or any(isinstance(each, cst.ExceptHandler) for each in around)
    return is_tried or _names_prefix(root) or _names_prefix(_root_of(taken))


def _condition(step: Step | None) -> WrappedWhere | None:
    """The condition under which a model is wrapped."""
    return next((each for each in reversed(steps(step)) if isinstance(each, WrappedWhere)), None)


def _is_bare_beside(
    root: cst.CSTNode, function: FunctionInfo | None, call: cst.CSTNode, model: Value, condition: WrappedWhere
) -> bool:
    """Whether a model is bare where another one is in the wrapper that a condition decides about."""
    own = _condition(model.provenance)
    if wrapping_of_weights(model) is Wrapping.UNWRAPPED:
        return own is not None and own.node is condition.node
    return condition.function is function and not asks_for_wrapper(root, call, condition)


def _is_taken_anyway(taken: StateTaken, condition: WrappedWhere | None) -> bool:
    """Whether a state dict is that of a bare model, whatever a condition decides about a wrapper."""
    return condition is not None and not asks_for_wrapper(_root_of(taken), taken.node, condition)


def _root_of(step: Step) -> cst.CSTNode:
    """The function, or the module, around a step."""
    around = [each for each in definitions_around(step.module.tree, step.node) if isinstance(each, cst.FunctionDef)]
    return around[-1] if around else step.module.tree


def _names_prefix(root: cst.CSTNode) -> bool:
    """Whether code names the prefix, so that it may know of it."""
    return any(_PREFIX in each.value for each in of_class(root, cst.SimpleString))
