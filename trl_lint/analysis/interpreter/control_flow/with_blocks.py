"""`with`: the bound names, whether gradients are on inside, and which rank runs first."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import DividedBy
from trl_lint.analysis.interpreter.control_flow.branches import run_body
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.interpreter.objects.assignment import bind_target
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Branch
from trl_lint.analysis.transfer.models import gradients
from trl_lint.analysis.transfer.processes import first_rank
from trl_lint.domain.kinds import IterableValue
from trl_lint.domain.values import BOTTOM, Value


def run_with(frame: Frame, node: cst.With) -> bool:
    entered = len(frame.sync_points)
    values = [_entered(frame, item) for item in node.items]
    before = frame.memory.control
    inside = gradients.within(frame, first_rank.inside(frame, node, before), node.items, values)
    if any(point.kind == "parameters" for point in frame.sync_points[entered:]):
        inside = inside.with_parameters()
    if inside is before:
        return run_body(frame, node.body)
    frame.memory.control = inside
    start = len(frame.sync_points)
    through = run_body(frame, node.body)
    if first_rank.has_turns(frame, node):
        end = len(frame.sync_points)
        branch = Branch(node, first_rank.one_by_one(frame, node), (start, end, end), by=DividedBy.SEQUENTIAL)
        for observe in frame.observers.branch:
            observe(frame, branch)
    frame.memory.control = first_rank.control_after_block(before, frame.memory.control, inside)
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
    enter = manager.cls.find("__enter__") if isinstance(manager, ProjectInstance) else None
    if item.asname is None or enter is None:
        return manager
    start = len(frame.sync_points)
    given = frame.engine.call_property(frame, manager, enter, item.item)
    # Some ranks may wait here, and the others at the end of the block.
    del frame.sync_points[start:]
    return manager if given is BOTTOM else given
