"""Where gradients are on, and where sharded parameters have been gathered.

The control at a point:

    with torch.no_grad(): ...             control.grad False inside
    @torch.no_grad()                      control.grad False in the whole function
    with GatheredParameters(weights): ... control.parameters_gathered True inside
    torch.set_grad_enabled(False)         control.grad False from here on
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, below, identifiers, names_in
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.control import Control
from trl_lint.domain.kinds import GradientSwitch, IterableValue
from trl_lint.domain.ranks import SAME
from trl_lint.domain.values import Value
from trl_lint.knowledge.heuristics import GATHERS_PARAMETERS
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS


class GradientScopes:
    """Where a function switches gradients off.

    no_train_calls: the calls, by the id of their node, in whose `with` block nothing is trained. yields: whether
    gradients are on where a context manager yields.
    """

    def __init__(self) -> None:
        self.no_train_calls: set[int] = set()
        self.yields = True


def note_no_train(frame: Frame, node: cst.CSTNode) -> None:
    """A call returns a context manager under which nothing is trained."""
    frame.notes.of(GradientScopes).no_train_calls.add(id(node))


def note_yield(frame: Frame) -> None:
    """A context manager yields here."""
    frame.notes.of(GradientScopes).yields &= frame.memory.control.grad


def at_yields(frame: Frame) -> bool:
    """Whether gradients are on inside a context manager of the project."""
    return frame.notes.of(GradientScopes).yields


def within(frame: Frame, control: Control, items: Sequence[cst.WithItem], values: list[Value]) -> Control:
    """The control inside a `with` statement with these items."""
    for item, value in zip(items, values, strict=True):
        if _gathers(frame, item.item):
            control = control.with_parameters()
        if isinstance(value, GradientSwitch) and value.on:
            control = control.without_gradients(off=False)
        elif _switches_off(frame, item.item, value):
            control = control.without_gradients()
    return control


def _switches_off(frame: Frame, node: cst.CSTNode, value: Value | None) -> bool:
    """Whether nothing is trained inside; one branch of a conditional expression is enough, as for a reference model."""
    if isinstance(node, cst.IfExp):
        arms = (node.body, node.orelse)
        return any(_switches_off(frame, arm, frame.known_value(arm)) for arm in arms)
    if id(node) in frame.notes.of(GradientScopes).no_train_calls:
        return True
    if value is None:
        return False
    return not value.on if isinstance(value, GradientSwitch) else isinstance(value, IterableValue) and not value.grad


def _gathers(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a context manager gathers sharded parameters, according to its name or that of what is bound to it."""
    bound = [value for target, value in assignments(frame.root) if target.deep_equals(node)]
    return any(map(GATHERS_PARAMETERS.fits, {*identifiers(node)}.union(*map(names_in, bound))))


def is_gathered_by_hand(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a place is between the calls of `__enter__` and `__exit__` of what gathers sharded parameters."""
    entered: list[cst.BaseExpression] = []
    for each in takewhile(lambda each: each is not node, below(frame.root)):
        match each:
            case cst.Call(func=cst.Attribute(value=manager, attr=cst.Name("__enter__"))) if _gathers(frame, manager):
                entered.append(manager)
            case cst.Call(func=cst.Attribute(value=manager, attr=cst.Name("__exit__"))):
                entered = [other for other in entered if not other.deep_equals(manager)]
    return bool(entered)


def decorated(control: Control, decorators: frozenset[str]) -> Control:
    """The control at the start of a function with these decorators."""
    if decorators & WITHOUT_GRADIENTS:
        return control.without_gradients()
    return control.without_gradients(off=False) if "enable_grad" in decorators else control


def no_grad(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`torch.no_grad()`, `torch.inference_mode(mode=True)`."""
    switch = next(iter(args.all()), None)
    return GradientSwitch(switch is not None and switch.const is False)


def enable_grad(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return GradientSwitch(True)


def set_grad_enabled(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """As a context manager, or as a statement that applies to the code after it."""
    switch = next(iter(args.all()), None)
    if switch is None or not isinstance(switch.const, bool):
        return Value(SAME)
    if frame.discarded is node:
        frame.memory.control = frame.memory.control.without_gradients(off=not switch.const)
    return GradientSwitch(bool(switch.const))
