"""Functions that threads run: in this process, as if they were called where the thread, or a pool of them, gets them.

    pool.map(score, pairs)             `score(pair)`, for each of them: an iterator over the results
    pool.submit(write, path, text)     `write(path, text)`; what the future gives is unknown
    Thread(target=write, args=(path,)) `write(path)`, which is known to end

A pool of processes is another matter: each of its processes has a state of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.callees import function_of
from trl_lint.domain import ranks
from trl_lint.domain.kinds import IterableValue
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.thread_pools import MAP, SUBMIT, THREAD

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def called(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The result of a pool's method by its canonical name; None for other functions."""
    if name == THREAD:
        _start(frame, args, node)
        return None
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


def _start(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """Run what a new thread will run, unless that may be a loop that goes on as long as the program does."""
    target, expression = args.keywords.get("target"), args.expression("target")
    function = None if expression is None else function_of(frame, expression)
    if target is None or function is None or "kwargs" in args.keywords or any(of_class(function.node, cst.While)):
        return
    given = args.keywords.get("args")
    frame.engine.call_value(frame, target, Arguments([] if given is None else list(given.items)), node)
