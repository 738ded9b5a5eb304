"""Loops that evaluate by what mode their model is in, although gradients are on.

    model.eval()                         model: wrapped
    for x, y in loader:                  evaluates
        hits += (model(x).argmax(-1) == y).sum()

Not if another wrapped model of the loop is in training mode, nor if a backward pass follows before the next `.train()`:
some train in evaluation mode, to keep the statistics of their layers. Nor if a function that it calls trains.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance, ProjectModel
from trl_lint.analysis.program.idioms.path_conditions import is_bound
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import assigned_parts, last_name, of_class, precedes, self_attribute
from trl_lint.analysis.state.callees import called_in, function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.wrapped_models import is_shared
from trl_lint.domain.devices import EVALUATED
from trl_lint.domain.values import UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge.heuristics import COMPUTES_GRADIENTS
from trl_lint.knowledge.models import TRAINING_MODE
from trl_lint.knowledge.torch import STEPS_OF_TRAINING


def runs_evaluated(frame: Frame, loop: cst.For | cst.While) -> bool:
    """Whether a loop runs wrapped models, or what is inside them, and has all of them in evaluation mode."""
    known = (*frame.memory.names.values(), *frame.memory.attributes.values())
    if not any(each.device == EVALUATED for each in known):
        return False
    models = [each for each in _run_in(frame, loop) if is_shared(each) or each.wrapping is Wrapping.UNWRAPPED]
    in_mode = bool(models) and all(each.device == EVALUATED for each in models)
    return in_mode and not _is_trained(frame.root, loop) and not calls_training(frame, loop)


def _run_in(frame: Frame, loop: cst.For | cst.While) -> Iterator[Value]:
    """The models that a loop calls or passes on, of those that it does not bind.

    What it assigns in `self`, as a sum, is not read ahead of it: a reading may bring in what others have left there.
    """
    for name in {each.value: each for each in of_class(loop.body, cst.Name)}.values():
        value = frame.memory.names.get(name.value, UNKNOWN)
        if value.kind is Kind.MODEL and not is_bound(loop, name):
            yield value
    cls = frame.cls
    if cls is None:
        return
    assigned = {self_attribute(target) for target, _ in assigned_parts(loop.body)}
    assigned |= {self_attribute(each.target) for each in of_class(loop.body, cst.AugAssign)}
    paths = {self_attribute(each) for each in of_class(loop.body, cst.Attribute)} - assigned - {""}
    for path in sorted(paths):
        # A property may do anything. What only some ranks read in the loop does not count as read here.
        kept = frame.read_attribute(cls, path) if cls.find(path) is None else None
        if kept is not None and kept.kind is Kind.MODEL:
            yield kept


def _is_trained(root: cst.CSTNode, loop: cst.For | cst.While) -> bool:
    """Whether a loop puts something into training mode, or gradients are computed after it before anything does."""
    for call in of_class(root, cst.Call):
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if name != TRAINING_MODE and not COMPUTES_GRADIENTS.fits(name):
            continue
        if precedes(root, loop, call):
            return name != TRAINING_MODE
        if not precedes(root, call, loop):
            return True
    return False


# So many functions may be called in turn: more are not looked through.
_MOST_CALLED = 40


def calls_training(frame: Frame, loop: cst.For | cst.While) -> bool:
    """Whether a function that a loop calls trains, `loss = train_step(model, batch)`, or one that this calls.

    Of the latter, only those that compute gradients: `step` is also what a schedule of noise does.
    """
    called = (function_run(frame, each.func) for each in of_class(loop.body, cst.Call))
    found = list(dict.fromkeys(each for each in called if each is not None))
    if any(last_name(call.func) in STEPS_OF_TRAINING for each in found for call in of_class(each.node, cst.Call)):
        return True
    for each in found:  # which grows
        calls = of_class(each.node, cst.Call)
        if any(COMPUTES_GRADIENTS.fits(last_name(call.func)) for call in calls):
            return True
        inner = dict.fromkeys(called_in(frame, each, call.func) for call in calls if len(found) < _MOST_CALLED)
        found += [one for one in inner if one is not None and one not in found]
    return False


def function_run(frame: Frame, callee: cst.BaseExpression) -> FunctionInfo | None:
    """The function of the project that a call runs: also the forward pass of a model, and a method of one, or of what
    `self` holds: `self.engine.update(batch)`.
    """
    match callee:
        case cst.Name():
            known, name = frame.engine.lookup(frame, callee.value), _FORWARD
        case cst.Attribute(value=cst.Name(owner)) if owner in frame.memory.names:
            known, name = frame.memory.names[owner], callee.attr.value
        case cst.Attribute(value=owner) if frame.cls is not None and self_attribute(owner):
            path = self_attribute(owner)  # a property may do anything
            known = frame.read_attribute(frame.cls, path) if frame.cls.find(path) is None else None
            name = callee.attr.value
        case _:
            return function_of(frame, callee)
    if isinstance(known, ProjectModel) or (isinstance(known, ProjectInstance) and name != _FORWARD):
        return known.cls.find(name)
    return function_of(frame, callee)


_FORWARD = "forward"
