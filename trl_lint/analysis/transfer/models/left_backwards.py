"""Backward passes of losses that a function is passed, or computes with what it is passed: left to its callers.

def trained(net, x, y):
    F.cross_entropy(net(x), y).backward()    it reduces gradients if a caller has run a wrapper's forward

trained(model, x, y)                         counts there, after `model(x)` of a wrapper
trained(nn.Linear(8, 2), x, y)               reduces nothing: of a network that the caller makes for it
trained(net, x, y)                           of a parameter of the caller: left to the caller's own callers
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.program.syntax import holder_name
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.made_here import bound_names, is_computed_apart, makes, parts_of
from trl_lint.domain.sync_points import SyncPoint


class GivenParts(NamedTuple):
    """The parameters of a function that a loss is computed from. run: those that are called, or whose methods are."""

    run: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()


class LeftBackward(NamedTuple):
    """A backward pass, and what the function is passed for its loss."""

    point: SyncPoint
    given: GivenParts


class LeftToCallers:
    """The backward passes that a run of a function leaves to its callers, by the node there."""

    def __init__(self) -> None:
        self.points: dict[int, LeftBackward] = {}


def leave(frame: Frame, point: SyncPoint, given: GivenParts) -> None:
    if not point.is_awaited:
        return
    frame.trace.notes.of(LeftToCallers).points[id(point.node)] = LeftBackward(point, given)
    frame.engine.note_stored(LeftToCallers, frame.function, point.node)


def given_parts(frame: Frame, loss: cst.CSTNode) -> GivenParts:
    """The parameters of a function that a loss in it is computed from, and that it does not bind to anything else."""
    parts = parts_of(frame.root, loss)
    names = _parameters(frame) - bound_names(frame.root)
    run = {holder_name(each.func) for each in parts if isinstance(each, cst.Call)}
    used = {each.value for each in parts if isinstance(each, cst.Name)}
    return GivenParts(frozenset(names & run), frozenset(names & used))


def given_further(frame: Frame, function: FunctionInfo, call: cst.CSTNode, given: GivenParts) -> GivenParts:
    """The parameters of this function that it passes as they are for those of the function that it calls."""
    names = _parameters(frame) - bound_names(frame.root)
    passed = {name: holder_name(each) for name, each in _passed(function, call, given).items()}
    run = {passed[each] for each in given.run if each in passed}
    return GivenParts(frozenset(names & run), frozenset(names.intersection(passed.values())))


def is_of_network_passed(frame: Frame, function: FunctionInfo, call: cst.CSTNode, given: GivenParts) -> bool:
    """Whether the caller makes a network for the loss in a function, and passes nothing of a wrapper for it."""
    passed = _passed(function, call, given)
    parts = [part for each in passed.values() for part in parts_of(frame.root, each)]
    return is_computed_apart(frame, parts) and any(makes(frame, passed[each]) for each in given.run if each in passed)


def _parameters(frame: Frame) -> set[str]:
    return set() if frame.function is None else {each.name for each in frame.function.parameters}


def _passed(function: FunctionInfo, call: cst.CSTNode, given: GivenParts) -> dict[str, cst.BaseExpression]:
    if not isinstance(call, cst.Call):
        return {}
    passed = ((name, argument_for(function, call, name)) for name in given.used)
    return {name: each for name, each in passed if each is not None}
