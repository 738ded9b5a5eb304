"""Functions that a pool of threads runs: in this process, as if they were called where the pool gets them.

    pool.map(score, pairs)             `score(pair)`, for each of them: an iterator over the results
    pool.submit(write, path, text)     `write(path, text)`; what the future gives is unknown

A pool of processes is another matter: each of its processes has a state of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain import ranks
from trl_lint.domain.kinds import IterableValue
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.thread_pools import MAP, SUBMIT

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.frame import Frame


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
