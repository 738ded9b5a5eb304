"""What only some ranks have done before, by the same call: then the others find the result.

if rank == 0: build(path)
barrier()
build(path)             a repetition: what `build` makes if it is missing is there, on all ranks
make_loader(path)       so is a call of `build` in it, unless it is known to pass something else

It does not matter either if the first three lines are those of a function that has been called before.

Notes of a kind of work are classes of their own that inherit from `RepeatableWork`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import precedes
from trl_lint.domain.control import Uniformity
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import UNSEEN, SyncPoint

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun


# Calls that only some ranks make are few; of more than these, the first are kept.
_MOST_CALLS = 32


class _ProjectCall(NamedTuple):
    """A call of a function of the project, made at a node of the code that is run.

    constants: the arguments of which the text or the number is known. codes: all of them, as they are written; empty if
    it is made by other code, which is called at the node. is_awaited: whether that code has waited for all ranks since.
    """

    function: FunctionInfo
    node: cst.CSTNode
    constants: dict[str, Hashable]
    codes: dict[str, str]
    is_awaited: bool = False

    def may_repeat(self, first: _ProjectCall) -> bool:
        """Whether it may do the same as an earlier call, as far as is known."""
        if self.function is not first.function:
            return False
        return all(first.constants.get(name, each) == each for name, each in self.constants.items())

    def repeats(self, first: _ProjectCall) -> bool:
        """Whether it does the same as an earlier call around the same run: what is not known is written alike."""
        known = self.constants.keys() | first.constants.keys()
        pairs = ((each, first.codes.get(name, each)) for name, each in self.codes.items() if name not in known)
        return self.may_repeat(first) and all(own == other or "None" in (own, other) for own, other in pairs)


class _Caller(NamedTuple):
    """The run around a call. again: whether that call is a repetition. before: the calls that some ranks have made."""

    work: RepeatableWork
    call: _ProjectCall
    again: bool
    before: list[_ProjectCall]

    def is_repetition(self, calls: tuple[_ProjectCall, ...]) -> bool:
        """Whether the call is one, or one of those that it leads to."""
        return self.again or any(
            self.call.repeats(first) or any(each.may_repeat(first) for each in calls) for first in self.before
        )


class RepeatableWork:
    """A run of a function that does some work, itself or by what it calls, and who calls it."""

    def __init__(self) -> None:
        self.is_done = False
        self.callers: dict[tuple[int, int, int], _Caller] = {}

    def only_repeats(self, inside: tuple[RepeatableWork, ...] = (), calls: tuple[_ProjectCall, ...] = ()) -> bool:
        """Whether all calls that lead here are repetitions, or in one. calls: those that lead from here to the work."""
        if self in inside or not self.callers:
            return False
        return all(
            caller.is_repetition(calls) or caller.work.only_repeats((*inside, self), (*calls, caller.call))
            for caller in self.callers.values()
        )


class _Calls:
    """The calls that only some ranks have made, by their source."""

    def __init__(self) -> None:
        self.by_code: dict[str, cst.CSTNode] = {}


class _CallsOfSome:
    """The calls of functions of the project that only some ranks have made, in a run and in what it has called."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, _ProjectCall] = {}

    @property
    def calls(self) -> list[_ProjectCall]:
        return list(self._calls.values())

    def add(self, call: _ProjectCall) -> None:
        if len(self._calls) < _MOST_CALLS:
            key = id(call.function), id(call.node), call.is_awaited, *call.constants.items()
            self._calls.setdefault(key, call)


def note_call(
    frame: Frame, kind: type[RepeatableWork], run: CalleeRun, function: FunctionInfo, node: cst.CSTNode, *, waits: bool
) -> None:
    """A function of the project was called. waits: it is a repetition only if the ranks wait for each other before."""
    first, is_of_some = made_before(frame, node), _is_of_some(frame)
    work, calling = run.trace.notes.of(kind), frame.trace.notes.of(kind)
    made = frame.trace.notes.of(_CallsOfSome)
    does_work = work.is_done and work is not calling
    call = _call(frame, function, node) if does_work or is_of_some else _ProjectCall(function, node, {}, {})
    if does_work:
        calling.is_done = True
        is_again = first is not None and (not waits or _wait_between(frame.root, frame.sync_points, first, node))
        before = [] if is_of_some else [each for each in made.calls if not waits or _is_over(frame, each, node)]
        work.callers[id(calling), id(node), id(function)] = _Caller(calling, call, is_again, before)
    if is_of_some:
        made.add(call)
    else:
        _take_over(made, run, function, node)


def _take_over(made: _CallsOfSome, run: CalleeRun, function: FunctionInfo, node: cst.CSTNode) -> None:
    """Note the calls that some ranks have made in a function that all of them have called."""
    for each in run.trace.notes.of(_CallsOfSome).calls:
        is_awaited = each.is_awaited or _wait_between(function.node, run.sync_points, each.node)
        made.add(_ProjectCall(each.function, node, each.constants, {}, is_awaited))


def _is_over(frame: Frame, first: _ProjectCall, node: cst.CSTNode) -> bool:
    """Whether all ranks have waited between a call that some of them have made and a later one."""
    is_earlier = precedes(frame.root, first.node, node)
    return (first.is_awaited and is_earlier) or _wait_between(frame.root, frame.sync_points, first.node, node)


def made_before(frame: Frame, node: cst.CSTNode) -> cst.CSTNode | None:
    """The call with the same code that only some ranks have made before, in the same function."""
    calls = frame.notes.of(_Calls).by_code
    if _is_of_some(frame):
        calls[frame.module.tree.code_for_node(node)] = node
        return None
    return calls.get(frame.module.tree.code_for_node(node)) if calls else None


def _is_of_some(frame: Frame) -> bool:
    control = frame.memory.control
    return control.uniformity is Uniformity.DIVERGENT and control.rank.origins == Origin.RANK


def _call(frame: Frame, function: FunctionInfo, node: cst.CSTNode) -> _ProjectCall:
    if not isinstance(node, cst.Call):
        return _ProjectCall(function, node, {}, {})
    skipped = int(function.cls is not None and not function.is_static)
    parameters = [each for each in function.parameters if not each.star][skipped:]
    defaults = {each.name: each.default for each in parameters if each.default is not None}
    constants = {name: value for name, each in defaults.items() if (value := _literal(each)) is not None}
    codes = {name: function.module.tree.code_for_node(each) for name, each in defaults.items()}
    for place, arg in enumerate(node.args):
        name = arg.star if arg.keyword is None else arg.keyword.value
        if not name and place < len(parameters):
            name = parameters[place].name
        codes[name] = frame.module.tree.code_for_node(arg.value)
        value = frame.value_of(arg.value).const
        constants.pop(name, None)
        if isinstance(value, (str, int, float)):
            constants[name] = value
    return _ProjectCall(function, node, constants, {**codes, "()": frame.module.tree.code_for_node(node.func)})


def _literal(node: cst.BaseExpression) -> Hashable:
    """The text or the flag that is written out; None for anything else."""
    match node:
        case cst.SimpleString():
            return str(node.evaluated_value)
        case cst.Name("False" | "True" as name):
            return name == "True"
    return None


def _wait_between(
    root: cst.CSTNode, points: Iterable[SyncPoint], first: cst.CSTNode, second: cst.CSTNode | None = None
) -> bool:
    """Whether all ranks wait for each other between two places of a function; without a second one, before its end."""
    return any(
        point.certain
        and not point.subgroup
        and point.kind not in UNSEEN
        and precedes(root, first, point.node)
        and (second is None or precedes(root, point.node, second))
        for point in points
    )
