"""Numbers that differ between ranks which break out of a loop and those that stay, until the former are gone.

For example:

    for epoch in epochs:
        for batch in loader:
            train(batch)
            step += 1
            if time.time() > end:
                stops = True
                break             this rank has made fewer steps than the others
        log(step)                 here they differ
        if stops:
            break                 it leaves the outer loop, too
        save(step)                all that are still here have made equally many

Not if the flag may have changed on the way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import truth
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.program.blocks import ends_outside
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.idioms.repeated_exits import has_one_outcome, statements_after
from trl_lint.analysis.program.syntax import below
from trl_lint.analysis.state.frame import Frame, Loop
from trl_lint.domain.control import Control
from trl_lint.domain.heap import Memory
from trl_lint.domain.values import Value

_Key = TypeVar("_Key", bound=Hashable)
# What a condition may do more than ask.
_CHANGING = (cst.Await, cst.Call, cst.NamedExpr)


class _Left:
    """By the id of an `if` behind a loop by which ranks leave: the state after the loop, with them and without."""

    def __init__(self) -> None:
        self.by_exit: dict[int, tuple[Memory, Memory]] = {}


@dataclass
class PartedBreaks:
    """The states at the `break`s of a loop: of ranks that go on after it, and of those that leave behind it, too.

    Attributes:
        exit_behind: The `if` behind the loop by which the latter leave, the last one if there are several.
        conditions: Those on which only they leave the loop.
    """

    staying: list[Memory]
    leaving: list[Memory]
    exit_behind: cst.If
    conditions: list[Control]

    def without_leaving(self, control: Control) -> Control:
        """The conditions at a place, and those that keep away only ranks that leave behind the loop."""
        for each in self.conditions:
            control = control.under(each)
        return control


def split(frame: Frame, node: cst.For | cst.While, loop: Loop) -> PartedBreaks | None:
    """The `break`s of a loop, if ranks leave by some of them that leave behind the loop, too."""
    exits = [] if node.orelse is not None or not loop.breaks else list(_exits_behind(frame, node))
    staying: list[tuple[cst.Break, Memory]] = []
    leaving: list[tuple[cst.Break, Memory]] = []
    last = -1
    for each in zip(loop.left_by, loop.breaks, strict=True):
        place = next((index for index, behind in enumerate(exits) if _holds(frame, behind.test, each[1])), None)
        (staying if place is None else leaving).append(each)
        last = last if place is None else max(last, place)
    if not leaving:
        return None
    tests = _tests_of(frame, leaving) - _tests_of(frame, staying)
    conditions = [
        condition
        for _, memory in leaving
        for condition in memory.control.conditions
        if condition.provenance is not None and id(condition.provenance.node) in tests
    ]
    states_of = [[memory for _, memory in each] for each in (staying, leaving)]
    return PartedBreaks(states_of[0], states_of[1], exits[last], conditions)


def _tests_of(frame: Frame, breaks: Sequence[tuple[cst.Break, Memory]]) -> set[int]:
    """The ids of the conditions around some statements."""
    return {id(around.test) for leaving, _ in breaks for around, _ in ifs_around(frame.root, leaving)}


def _exits_behind(frame: Frame, loop: cst.For | cst.While) -> Iterable[cst.If]:
    """The `if`s behind a loop whose body ends outside and whose condition is the same there as right after the loop."""
    between: list[cst.CSTNode] = []
    for statement in statements_after(frame.root, loop):
        if isinstance(statement, cst.If) and ends_outside(statement.body):
            is_plain = not any(isinstance(each, _CHANGING) for each in below(statement.test))
            if is_plain and has_one_outcome(frame.root, statement.test, between):
                yield statement
        between.append(statement)


def _holds(frame: Frame, test: cst.BaseExpression, memory: Memory) -> bool | None:
    """The outcome of a condition in a state, as far as it is known."""
    match test:
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            deciding = isinstance(operator, cst.Or)
            parts = (_holds(frame, left, memory), _holds(frame, right, memory))
            return deciding if deciding in parts else None if None in parts else not deciding
    before, start = frame.memory, len(frame.sync_points)
    frame.memory = memory.fork()
    holds = truth(frame, evaluate(frame, test))
    frame.memory = before
    del frame.sync_points[start:]
    return holds


def note(frame: Frame, parted: PartedBreaks, staying: Memory, after: Memory) -> None:
    """Note what the ranks that stay have, for when the others have left. after: the state of both."""
    frame.notes.of(_Left).by_exit[id(parted.exit_behind)] = (after.fork(), staying)


def forget_those(frame: Frame, node: cst.If) -> None:
    """Let the ranks that have not left by this `if` have what they had before the others came to it."""
    left = frame.notes.of(_Left).by_exit
    if id(node) in left:
        both, staying = left.pop(id(node))
        _restore(frame.memory.names, both.names, staying.names)
        _restore(frame.memory.attributes, both.attributes, staying.attributes)


def _restore(values: dict[_Key, Value], both: Mapping[_Key, Value], staying: Mapping[_Key, Value]) -> None:
    for key, value in staying.items():
        if values.get(key) is both.get(key, value):
            values[key] = value
