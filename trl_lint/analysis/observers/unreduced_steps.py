"""Optimizer steps with gradients that no backward pass has reduced, as `no_sync()` was on in the last one.

Events of a training step:

    with model.no_sync():                                   GradientsKept, at the call
        loss.backward()
    optimizer.step()
    with model.no_sync() if more else nullcontext():        none: the last of several batches reduces all
        loss.backward()
    if not more: optimizer.step()
    model.require_backward_grad_sync = i < n - 1            GradientsKept, at the attribute: off for the last of n
    loss.backward()
    model.set_requires_gradient_sync(i < n - 1)             GradientsKept, at the call
    loss.backward()
    with discriminator.no_sync():                           none: it is the other model that takes a step
        generator_loss.backward()
    optimizer_of_generator.step()

There is none if the program averages gradients or weights itself, parameter by parameter, if the optimizer may do so
(`DistributedFusedAdam`), or if the loop gives the model its former weights back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.gradient_events import GradientsKept
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.hand_reduction import reduces_gradients
from trl_lint.analysis.program.idioms.kept_gradients import Kept, kept_by, step_with
from trl_lint.analysis.program.idioms.reduction_switches import calls_after, start_of, switched_by
from trl_lint.analysis.program.idioms.stepped_models import makers_of, stepped, steps_model
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assigned_parts,
    holder_name,
    innermost,
    last_name,
    of_class,
    self_attribute,
    used_names,
)
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.control import Pace
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.pace_switches import PaceSwitch
from trl_lint.knowledge.heuristics import AVERAGES_WEIGHTS, CALLED_LOSS, MAY_WRAP
from trl_lint.knowledge.models import SETS_REDUCTION
from trl_lint.knowledge.torch import TAKES_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.values import Value


class UnreducedSteps(Observer["Frame"]):
    emits = frozenset({GradientsKept})
    statements = (cst.Assign,)

    def on_enter(self, frame: Frame, item: cst.BaseExpression, value: Value) -> None:
        kept = kept_by(frame.root, item)
        statement = None if kept is None else innermost(frame.root, item, cst.With)
        if kept is not None and statement is not None and _keeps(frame, kept.by):
            _look_for_step(frame, statement, of_class(statement.body, cst.Call), kept)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        _look_for_step_after(frame, switched_by(frame.root, statement))

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        cls = class_of(receiver) if name == SETS_REDUCTION else None
        if name == SETS_REDUCTION and (cls is None or cls.find(name) is None):
            _look_for_step_after(frame, switched_by(frame.root, node))


def _look_for_step_after(frame: Frame, kept: Kept | None) -> None:
    start = None if kept is None else start_of(frame.root, kept)
    if kept is not None and start is not None:
        _look_for_step(frame, start, calls_after(frame.root, start, kept), kept)


def _look_for_step(frame: Frame, statement: cst.CSTNode, calls: Iterable[cst.Call], kept: Kept) -> None:
    """Emits an event if an optimizer steps with what the calls after a statement, or in it, have left unreduced."""
    if is_test(frame.function):
        return

    def code_of(callee: cst.BaseExpression) -> cst.CSTNode | None:
        called = _called(frame, callee)
        return None if called is None else called.node

    step = step_with(frame.root, statement, calls, kept, code_of)
    if step is None or not _is_of_model(frame, step, kept.model):
        return
    if _may_reduce(frame, step) or _is_put_back(frame.root, statement, kept.model):
        return
    if not AVERAGES_WEIGHTS.found_in(frame.module.code) and not reduces_gradients(frame.root, code_of):
        frame.emit(GradientsKept, kept.by, step=step)


def _keeps(frame: Frame, call: cst.Call | cst.Attribute) -> bool:
    """Whether a call is that of a wrapper, an Accelerator or Fabric, and not of a method of the project.

    That may do something else, unless it is known to enter theirs.
    """
    value = frame.known_value(call)
    if isinstance(value, PaceSwitch):
        return value.pace is Pace.UNREDUCED
    if isinstance(call, cst.Attribute):
        return True
    owner = frame.known_value(call.func.value) if isinstance(call.func, cst.Attribute) else None
    cls = None if owner is None else class_of(owner)
    return (cls is None or cls.find(last_name(call.func)) is None) and _called(frame, call.func) is None


def _called(frame: Frame, callee: cst.BaseExpression) -> FunctionInfo | None:
    name = self_attribute(callee)
    return frame.cls.find(name) if name and frame.cls is not None else function_of(frame, callee)


def _is_of_model(frame: Frame, step: cst.Call, model: cst.BaseExpression) -> bool:
    """Whether the optimizer steps the model whose gradients are kept, or it is the only one that the code runs."""
    optimizer = stepped(step)
    if optimizer is not None:
        code = frame.root if isinstance(optimizer, cst.Name) else frame.module.tree
        known = steps_model(code, optimizer, model)
        if known is not None:
            return known
    return not _runs_another(frame, model)


def _may_reduce(frame: Frame, step: cst.Call) -> bool:
    """Whether an optimizer may reduce the gradients that it steps with, by the name of what makes it."""
    optimizer = stepped(step)
    code = frame.root if isinstance(optimizer, cst.Name) else frame.module.tree
    makers = () if optimizer is None else makers_of(code, optimizer)
    return any(MAY_WRAP.fits(name) and "prepare" not in name for name in map(last_name, makers))


def _is_put_back(root: cst.CSTNode, statement: cst.CSTNode, model: cst.BaseExpression) -> bool:
    """Whether a loop around a statement loads weights into a model: each rank trains a copy, and none is kept."""
    loop = next((each for each in ancestors(root, statement) if isinstance(each, LOOPS)), None)
    calls = () if loop is None else of_class(loop, cst.Call)
    loads = (each.func for each in calls if last_name(each.func) == TAKES_WEIGHTS)
    return any(isinstance(each, cst.Attribute) and holder_name(each) == holder_name(model) for each in loads)


def _runs_another(frame: Frame, model: cst.BaseExpression) -> bool:
    """Whether the function, or the class of an attribute, calls something without code that may be another wrapper."""
    code = frame.cls.node if self_attribute(model) and frame.cls is not None else frame.root
    called = {last_name(each.func): each.func for each in of_class(code, cst.Call)}
    return any(
        not callee.deep_equals(model) and not CALLED_LOSS.fits(name) and _may_be_wrapper(frame, callee)
        for name, callee in called.items()
    )


def _may_be_wrapper(frame: Frame, callee: cst.BaseExpression) -> bool:
    function = frame.function
    given = () if function is None else [each.name for each in function.parameters]
    made = {name for target, _ in assigned_parts(frame.root) for name in used_names(target)}
    name = self_attribute(callee)
    if not (isinstance(callee, cst.Name) and callee.value in made.union(given)) and not name:
        return False
    if _called(frame, callee) is not None:
        return False
    value = frame.cls.attribute(name) if name and frame.cls is not None else frame.known_value(callee)
    wrapping = None if value is None else wrapping_of(value)
    return wrapping is None or not wrapping.is_bare


OBSERVER = UnreducedSteps()
