"""Where ranks need not wait for each other in a training step.

The control at a point:

    with ddp.no_sync(): ...               control.pace UNREDUCED inside: a backward pass reduces nothing
    with fabric.no_backward_sync(ddp): ...    the same
    with ddp.join(): ...                  control.pace UNEVEN inside: ranks may run different numbers of steps
    ddp.require_backward_grad_sync = False    control.pace UNREDUCED from here on

With `no_sync() if accumulating else nullcontext()` some steps do reduce gradients. `join() if uneven else
nullcontext()` is there for the ranks that may have fewer batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.syntax import assignments
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.control import Control, Pace
from trl_lint.domain.kinds import BoundMethod
from trl_lint.domain.pace_switches import PaceSwitch
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import models

_PACES = {
    models.KEEPS_GRADIENTS: Pace.UNREDUCED,
    models.KEEPS_GRADIENTS_OF: Pace.UNREDUCED,
    models.JOINS: Pace.UNEVEN,
}
# What a wrapper may be; strings and threads have a `join` as well.
_WRAPPERS = frozenset({Kind.INSTANCE, Kind.MODEL, Kind.UNKNOWN})


def of_method(receiver: Value, name: str, args: Arguments, returned: Value) -> Value:
    """The result of a method, which may be a wrapper's context manager."""
    pace = _PACES.get(name)
    cls = class_of(receiver)
    if pace is None or receiver.kind not in _WRAPPERS or (cls is not None and cls.find(name) is not None):
        return returned
    if pace is Pace.UNEVEN and (args.positional or args.keywords.get(models.ENABLED, returned).const is False):
        return returned
    if models.KEEPS_IF in args.keywords and args.keywords[models.KEEPS_IF].const is not True:
        return returned  # in some steps, it may do nothing
    return PaceSwitch(pace)


def within(frame: Frame, control: Control, items: Sequence[cst.WithItem], values: Iterable[Value]) -> Control:
    """The control inside a `with` statement with these items."""
    for item, value in zip(items, values, strict=True):
        if isinstance(value, PaceSwitch):
            control = control.at_pace(max(control.pace, value.pace))
        elif any(_joins(frame.known_value(each)) for each in _alternatives(frame, item.item)):
            control = control.at_pace(Pace.UNEVEN)
    return control


def _joins(value: Value | None) -> bool:
    if isinstance(value, BoundMethod):
        return value.name == models.JOINS and value.receiver.kind in _WRAPPERS
    return isinstance(value, PaceSwitch) and value.pace is Pace.UNEVEN


def _alternatives(frame: Frame, item: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a context manager may be: `a` and `b` of `a if uneven else b`, also if that has a name or is called."""
    match item:
        case cst.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case cst.Call(func=cst.IfExp() | cst.Name() as func, args=[]):
            yield from _alternatives(frame, func)
        case cst.Name(name):
            for target, value in assignments(frame.root):
                if isinstance(target, cst.Name) and target.value == name:
                    yield from (value.body, value.orelse) if isinstance(value, cst.IfExp) else (value,)


def switched(frame: Frame, receiver: Value, name: str, value: Value) -> None:
    """`receiver.name = value`: it may say whether the steps after it reduce gradients."""
    control = frame.memory.control
    if name != models.REDUCES_GRADIENTS or receiver.kind not in _WRAPPERS or control.pace is Pace.UNEVEN:
        return
    frame.memory.control = control.at_pace(Pace.UNREDUCED if value.const is False else Pace.TOGETHER)


def after_branches(after: Control, ends: Iterable[Control]) -> Control:
    """The control after a condition: if gradients are reduced after one branch, they may be after all."""
    return after.at_pace(min((each.pace for each in ends), default=after.pace))
