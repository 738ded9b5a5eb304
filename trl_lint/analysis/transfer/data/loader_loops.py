"""Loops that train: over which loaders they go, and whether they compute gradients whatever is passed to the function.

for i, batch in enumerate(tqdm(loader)):        over `loader`
    if i < limit: loss.backward()               trains: the condition is on something of the loop
    if flag: loss.backward()                    may only evaluate
    if phase == "train": loss.backward()        trains in that turn of a loop around it, over ["train", "dev"]
    step(model, batch)                          trains, if the function computes gradients
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.definitions.own_loaders import LOADER_ITSELF, is_loader
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.syntax import (
    assignments,
    below,
    last_name,
    names_in,
    of_class,
    resolved,
    self_attribute,
)
from trl_lint.analysis.state.event_trace import called_traces
from trl_lint.domain.kinds import LoaderValue, class_name_of
from trl_lint.domain.values import UNKNOWN, Kind
from trl_lint.knowledge.heuristics import COMPUTES_GRADIENTS
from trl_lint.knowledge.model_libraries import STEPS
from trl_lint.knowledge.torch_distributed import TAKES_STEP

if TYPE_CHECKING:
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def loaders_in(frame: Frame, node: cst.BaseExpression, depth: int = 4) -> Iterator[LoaderValue]:
    """The loaders that an expression loops over: `enumerate(tqdm(loader))`, `zip(loader, other)`."""
    value = frame.value_of(node)
    if isinstance(value, ProjectInstance) and is_loader(value.cls):
        value = frame.read_attribute(value.cls, LOADER_ITSELF) or UNKNOWN
    if isinstance(value, LoaderValue):
        yield value
    elif depth:
        inner = resolved(frame.root, node)
        if inner is not node:
            yield from loaders_in(frame, inner, depth - 1)
        elif isinstance(node, cst.IfExp):
            yield from loaders_in(frame, node.body, depth - 1)
            yield from loaders_in(frame, node.orelse, depth - 1)
        elif isinstance(node, cst.Call) and last_name(node.func) != "len":
            for each in node.args:
                yield from loaders_in(frame, each.value, depth - 1)


def loaders_kept_by_some(frame: Frame, node: cst.BaseExpression) -> Iterator[LoaderValue]:
    """The loaders that some method leaves in an attribute of `self` that an expression loops over.

    What is in the attribute is unknown: another method leaves what a function of another package returns.
    """
    if frame.cls is None:
        return
    for each in of_class(resolved(frame.root, node), cst.Attribute):
        name = self_attribute(each)
        if name and frame.value_of(each).kind is Kind.UNKNOWN:
            for method in frame.cls.project_methods():
                kept = frame.cls.values_assigned_in(name, method)
                yield from (value for value in kept if isinstance(value, LoaderValue))


def traces_called_in(frame: Frame, code: cst.CSTNode) -> dict[int, list[EventTrace]]:
    """What each call of a function of the project in a piece of code leads to, by the id of the call."""
    inside = {id(each) for each in of_class(code, cst.Call)}
    found: dict[int, list[EventTrace]] = {}
    for edge, summary in frame.trace.calls.items():
        if edge[0] in inside:
            found.setdefault(edge[0], []).extend(called_traces(summary.trace))
    return found


def trains(frame: Frame, loop: cst.For) -> bool:
    """Whether a loop trains, whatever is passed to the function around it."""
    return bool(training_calls(frame, loop.body, _bound_in(loop.target)))


def training_calls(frame: Frame, code: cst.CSTNode, bound: frozenset[str] = frozenset()) -> list[cst.Call]:
    """The calls that compute gradients each time that a piece of code is run, whatever is passed to its function.

    Gradients alone may be for something else, such as the importance of heads, if the file takes no step. bound: names
    that are bound for the code, besides those that it binds itself.
    """
    is_for_steps = frame.module.mentions(TAKES_STEP)
    by_call = traces_called_in(frame, code)
    found = [
        call
        for call in of_class(code, cst.Call)
        if (is_for_steps and COMPUTES_GRADIENTS.fits(last_name(call.func)) and id(call) in frame.node_values)
        or any(each.backward for each in by_call.get(id(call), ()))
        or class_name_of(_of_callee(frame, call)) in STEPS
    ]
    training, names = {id(call) for call in found}, bound | _bound_by(code)
    return [call for call in found if _is_always_run(frame, code, call, training, names)]


def _of_callee(frame: Frame, call: cst.Call) -> Value | None:
    """The object that a call by a name calls: what a callee was is not kept."""
    return frame.memory.names.get(call.func.value) if isinstance(call.func, cst.Name) else None


def _is_always_run(frame: Frame, code: cst.CSTNode, call: cst.Call, training: set[int], bound: frozenset[str]) -> bool:
    """Whether no condition on something from outside, such as a flag, may skip a call in a piece of code.

    One that is known may: in the turns of a loop around it for which it is false.
    """
    for each, holds in ifs_around(code, call):
        known = frame.value_of(each.test).const
        if isinstance(known, bool):
            if known is not holds:
                return False
            continue
        is_of_code = not bound.isdisjoint(names_in(each.test))
        if not is_of_code and not _on_both(each, training):
            return False
    return True


def _on_both(statement: cst.If, training: set[int]) -> bool:
    """Whether gradients are computed in both branches of a condition."""
    branches = (statement.body, statement.orelse)
    return all(each is not None and any(id(call) in training for call in of_class(each, cst.Call)) for each in branches)


def _bound_by(code: cst.CSTNode) -> frozenset[str]:
    """The names that a piece of code binds."""
    targets: list[cst.CSTNode] = [each.target for each in of_class(code, cst.For)]
    targets += [target for target, _ in assignments(code)]
    targets += [each.target for each in of_class(code, cst.AugAssign)]
    return frozenset().union(*map(_bound_in, targets))


def _bound_in(target: cst.CSTNode) -> frozenset[str]:
    return frozenset(part.value for part in (target, *below(target)) if isinstance(part, cst.Name))
