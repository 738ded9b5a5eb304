"""`with`: the bound names, whether gradients are on inside, and which rank runs first."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.interpreter.control_flow.branches import run_body
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.interpreter.objects.assignment import bind_target
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Branch
from trl_lint.analysis.transfer.models import frozen_models, gradients, paces
from trl_lint.analysis.transfer.processes import first_rank
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.kinds import NONE, IterableValue
from trl_lint.domain.values import BOTTOM, Value


def run_with(frame: Frame, node: cst.With) -> bool:
    entered = len(frame.sync_points)
    values = [_entered(frame, item) for item in node.items]
    before = frame.memory.control
    inside = gradients.within(frame, first_rank.inside(frame, node, before), node.items, values)
    inside = paces.within(frame, inside, node.items, values)
    if any(point.kind == "parameters" for point in frame.sync_points[entered:]):
        inside = inside.with_parameters()
    if inside is before:
        return _run_body(frame, node, values)
    frame.memory.control = inside
    start = len(frame.sync_points)
    through = _run_body(frame, node, values)
    if first_rank.has_turns(frame, node):
        end = len(frame.sync_points)
        branch = Branch(node, first_rank.one_by_one(frame, node), (start, end, end), by=DividedBy.SEQUENTIAL)
        for observe in frame.observers.branch:
            observe(frame, branch)
    frame.memory.control = first_rank.control_after_block(before, frame.memory.control, inside)
    return through


def _run_body(frame: Frame, node: cst.With, managers: Sequence[Value]) -> bool:
    """Run the block, and then what the context managers of the project do at its end: they may reduce what it added.

    They do that also where all ranks leave the block, by a `return` in it.
    """
    before = frame.memory.control
    frozen = [each for item in node.items for each in frozen_models.enter(frame, item.item)]
    through = run_body(frame, node.body)
    after = frame.memory.control
    if through:
        frozen_models.leave(frame, frozen)
    else:
        frame.memory.control = before
    for item, manager in zip(reversed(node.items), reversed(managers), strict=True):
        _run_half(frame, manager, "__exit__", Arguments((NONE, NONE, NONE)), item.item)
    if not through:
        frame.memory.control = after
    return through


def _entered(frame: Frame, item: cst.WithItem) -> Value:
    """Enter a context manager and bind its target. Returns the value of the context manager."""
    value = evaluate(frame, item.item)
    bound = frame.context_values.pop(id(item.item), None)
    for observe in frame.observers.enter:
        observe(frame, item.item, value)
    if bound is None:
        bound = value.element if isinstance(value, IterableValue) else _given(frame, value, item)
        first_rank.note_unknown(frame, item.item, value)
    if item.asname is not None:
        bind_target(frame, item.asname.name, bound)
    return value


def _given(frame: Frame, manager: Value, item: cst.WithItem) -> Value:
    """What a context manager gives to its block: what the `__enter__` of its class returns, as a rule itself."""
    given = _run_half(frame, manager, "__enter__", Arguments(), item.item)
    return manager if given is BOTTOM else given


def _run_half(frame: Frame, manager: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """What a method of a context manager of the project returns; BOTTOM if it has none.

    Of its synchronisation points those count that it certainly reaches: some ranks may wait in `__enter__`, and the
    others in `__exit__`.
    """
    method = manager.cls.find(name) if isinstance(manager, ProjectInstance) else None
    if method is None:
        return BOTTOM
    start = len(frame.sync_points)
    given = frame.engine.call(frame, method, args, node, manager)
    frame.sync_points[start:] = [each for each in frame.sync_points[start:] if each.certain]
    return given
