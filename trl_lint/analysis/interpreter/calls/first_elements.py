"""What `next` returns: of elements that are the same on all ranks, each rank may have another one that passes a test.

next(rows)                                                        an element of `rows`
next(generator)                                                   what the `__next__` of its class returns
rows.next(), rows.__next__()                                      the same, by the method
next((place for place, hit in enumerate(hits) if hit), None)      where this rank's first hit is
next((name for name in names if name in settings), None)          the same on all ranks, as the test is
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import MISSING
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import IterableValue
from trl_lint.domain.ranks import PICKED, Origin, Rank, State
from trl_lint.domain.values import Kind, Value

_NEXT = "__next__"
_PLAIN = frozenset({Kind.NUMBER, Kind.STRING})


def first_of(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    element = _next_of(frame, args.positional[0], node)
    tested = _test_in(node)
    if tested is not None and _is_picked(args.positional[0]) and _is_same(element):
        step = frame.step(tested, "which elements pass `{}` depends on this rank's own data")
        element = element.replace(rank=Rank(State.LOCAL, Origin.DATA), const=MISSING, provenance=step)
    return join(element, args.positional[1]) if len(args.positional) > 1 else element


def _next_of(frame: Frame, elements: Value, node: cst.CSTNode) -> Value:
    method = elements.cls.find(_NEXT) if isinstance(elements, ProjectInstance) else None
    if method is None:
        return containers.item_of(frame, elements)
    return frame.engine.call(frame, method, Arguments([]), node, elements)


def _test_in(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The first test of a generator that a call gets: `hit` of `next(place for place, hit in hits if hit)`."""
    match node:
        case cst.Call(args=[cst.Arg(value=cst.GeneratorExp(for_in=cst.CompFor(ifs=[tested, *_]))), *_]):
            return tested.test
    return None


def _is_picked(elements: Value) -> bool:
    """Whether this rank's own data, and nothing else, say which elements there are."""
    length = elements.length if isinstance(elements, IterableValue) else None
    return length is not None and length.differs and length.how == PICKED and length.origins == Origin.DATA


def _is_same(element: Value) -> bool:
    return element.kind in _PLAIN and element.rank.state is State.SAME
