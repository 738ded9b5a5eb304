"""Functions that threads run: in this process, as if they were called there.

    pool.map(score, pairs)             `score(pair)`, for each of them: an iterator over the results
    pool.submit(write, path, text)     `write(path, text)`; what the future gives is unknown
    Thread(target=write, args=(path,)) `write(path)` where it is started, if that is known to end

A pool of processes is another matter: each of its processes has a state of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.callees import called_in, function_in
from trl_lint.domain import ranks
from trl_lint.domain.constants import PRESENT
from trl_lint.domain.kinds import NONE, IterableValue, PartialCall, TupleValue
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.thread_pools import MAP, START, SUBMIT, THREAD

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.frame import Frame


class NewThread(PartialCall):
    """A thread, with the call that it makes once it is started."""

    __slots__ = ()


def called(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The result of a pool's method by its canonical name; None for other methods."""
    given = len(args.positional)
    if not ((name in MAP and given > 1) or (name in SUBMIT and given)) or args.star is not None:
        return None
    function = args.positional[0]
    if name in SUBMIT:
        frame.engine.call_value(frame, function, args.without_first(), node)
        return UNKNOWN
    pairs = [containers.iterate(frame, each) for each in args.positional[1:]]
    result = frame.engine.call_value(frame, function, Arguments([element for element, _ in pairs]), node)
    return IterableValue(ranks.SAME, result, ranks.combine_all(length for _, length in pairs))


def created(name: str, args: Arguments) -> Value | None:
    """A new thread, if that is what a class makes and what it will call is written out."""
    target, given = args.get(1, "target"), args.get(3, "args") or TupleValue()
    is_open = args.star is not None or args.double is not None or args.get(4, "kwargs") is not None
    if name != THREAD or target is None or is_open or not isinstance(given, TupleValue):
        return None
    return NewThread(target, given.items).replace(const=PRESENT)


def call(frame: Frame, thread: NewThread, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """The result of a thread's method."""
    if name != START:
        return frame.engine.unresolved(frame, args, node)
    _start(frame, thread, node)
    return NONE


def _start(frame: Frame, thread: NewThread, node: cst.CSTNode) -> None:
    """Run what a thread runs, unless that may go on as long as the program does."""
    function = function_in(thread.callee)
    if function is not None and not _goes_on(frame, function):
        frame.engine.call_value(frame, thread.callee, Arguments(thread.positional), node)


def _goes_on(frame: Frame, function: FunctionInfo) -> bool:
    """Whether a function, or one that it calls, has a loop that ends when somebody else says so.

    for item in iter(queue.get, None):
        save(item)                          one rank alone may put something into its queue
    """
    calls = (called_in(frame, function, each.func) for each in of_class(function.node, cst.Call))
    code = (function.node, *(each.node for each in calls if each is not None))
    return any(any(of_class(each, cst.While)) or any(map(_is_endless, of_class(each, cst.For))) for each in code)


def _is_endless(loop: cst.For) -> bool:
    return isinstance(loop.iter, cst.Call) and last_name(loop.iter.func) == "iter" and len(loop.iter.args) > 1
