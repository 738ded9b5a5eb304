"""Values that are the same on all ranks that have one, while this rank's own data decides which ranks those are.

For example:

    if torch.isfinite(loss):
        norm = clip_grad_norm_(model.parameters(), 1.0)
    else:
        norm = None
    log(norm)                         differs between ranks
    if norm is not None:
        log(norm)                     the same on the ranks that are here: gradients are averaged over all
    norm = norm * len(batch)
    if norm is not None: log(norm)    differs: it is another value
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value


class _SharedUnlessNone:
    """By the id of a value after a branch: this value, which keeps the id taken, and what it is where it is no None."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[Value, Value]] = {}


def note(frame: Frame, names: Iterable[str], branches: tuple[Mapping[str, Value], Mapping[str, Value]]) -> None:
    """Note the values of names that one of two branches has left None, and the other the same on all of its ranks."""
    taken, skipped = branches
    for name in names:
        both = [each for each in (taken.get(name), skipped.get(name)) if each is not None]
        there = [each for each in both if each.kind is not Kind.NONE]
        if len(both) == 2 and len(there) == 1 and there[0].rank.state is State.SAME:
            value = frame.memory.names[name]
            frame.notes.of(_SharedUnlessNone).found[id(value)] = value, there[0]


def where_there(frame: Frame, value: Value) -> Value:
    """The value on the ranks on which it is not None."""
    return frame.notes.of(_SharedUnlessNone).found.get(id(value), (value, value))[1]
