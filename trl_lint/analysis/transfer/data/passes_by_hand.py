"""Passes over a loader that are begun by hand, and the calls that ask for their batches.

batches = iter(loader)         begins one
while step < steps:
    try:
        batch = next(batches)
    except StopIteration:
        batches = iter(loader) begins another one, wherever the last one ended
        batch = next(batches)
    batch = next(iter(loader)) begins one for each batch
    if batches is None:
        batches = iter(loader) may begin the first one only: not known
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.asked_batches import ASKS, asked_of
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    below,
    innermost,
    last_name,
    names_in,
    of_class,
    used_names,
)
from trl_lint.domain.kinds import IterableValue, LoaderValue
from trl_lint.domain.loader_samplers import ShufflingSampler
from trl_lint.domain.provenance import Step, steps

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

_BEGINS = "iter"
# In files without these, no call has to be looked at.
_BEGINS_PASSES = rb"\biter\("
_ASKS_FOR_BATCHES = rb"\bnext\(|__next__"
_LENGTH = "len"
_ENDS = frozenset({"BaseException", "Exception", "StopIteration"})


def begun_in(frame: Frame, code: cst.CSTNode) -> Iterator[tuple[LoaderValue, cst.Call, tuple[cst.Call, ...]]]:
    """The passes that a piece of code begins over loaders that shuffle: the loader, the call, who asks it."""
    for call in of_class(code, cst.Call) if frame.module.mentions(_BEGINS_PASSES, _BEGINS) else ():
        if not (isinstance(call.func, cst.Name) and call.func.value == _BEGINS and len(call.args) == 1):
            continue
        loader = frame.value_of(call)
        if isinstance(loader, LoaderValue) and isinstance(loader.sampler, ShufflingSampler):
            yield loader, call, tuple(_asked(frame, call))


def _asked(frame: Frame, begins: cst.Call) -> Iterator[cst.Call]:
    """The calls that ask for a batch of a pass: of the variable that has it, or directly."""
    holders = [target for target, value in assignments(frame.root) if value is begins]
    for call in of_class(frame.root, cst.Call):
        asked = asked_of(call)
        if asked is not None and (asked is begins or any(each.deep_equals(asked) for each in holders)):
            yield call


def is_begun_again(frame: Frame, begins: cst.Call, asked: Sequence[cst.Call]) -> bool | None:
    """Whether a pass begins between the batches, where the last one has ended; None if it is not known when it does."""
    loop = innermost(frame.root, begins, *LOOPS)
    around = ancestors(frame.root if loop is None else loop, begins)
    conditions = [each for each in around if isinstance(each, (cst.If, cst.ExceptHandler))]
    if not conditions or all(innermost(frame.root, each, *LOOPS) is not loop for each in asked):
        return False
    return any(_shows_end(frame, each, asked) for each in conditions) or None


def _shows_end(frame: Frame, condition: cst.If | cst.ExceptHandler, asked: Sequence[cst.Call]) -> bool:
    """Whether a condition shows that a pass has ended: by what it gives no more, or by how many batches it has."""
    if isinstance(condition, cst.ExceptHandler):
        tried = innermost(frame.root, condition, cst.Try)
        return _catches_end(condition) and any(tried in ancestors(frame.root, each) for each in asked)
    batches = {
        name
        for target, value in assignments(frame.root)
        if any(each is value for each in asked)
        for name in used_names(target)
    }
    counts = (isinstance(each, cst.Modulo) or last_name(each) == _LENGTH for each in below(condition.test))
    return not batches.isdisjoint(used_names(condition.test)) or any(counts)


def _catches_end(handler: cst.ExceptHandler) -> bool:
    return handler.type is None or not _ENDS.isdisjoint(names_in(handler.type))


def loaders_asked(frame: Frame) -> Iterator[tuple[cst.CSTNode, list[Step]]]:
    """Where this function gets batches of a generator, with the steps from the loader that this goes through."""
    for call in of_class(frame.root, cst.Call) if frame.module.mentions(_ASKS_FOR_BATCHES, ASKS) else ():
        asked = asked_of(call)
        if asked is not None and (found := _origin(frame, asked)):
            yield call, found
    for loop in of_class(frame.root, cst.For):
        if found := _origin(frame, loop.iter):
            yield loop.iter, found


def _origin(frame: Frame, node: cst.BaseExpression) -> list[Step]:
    value = frame.value_of(node)
    return steps(value.element.provenance) if isinstance(value, IterableValue) else []
