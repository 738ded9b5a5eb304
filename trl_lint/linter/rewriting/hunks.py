"""Which lines of a text became which lines of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

# From this size on, frequent lines are no anchors: comparing each with each takes n² steps.
_MANY = 2_000


@dataclass(frozen=True, slots=True)
class Hunk:
    """The lines from `first` to before `last` (from 0) became those from `start` to before `end`."""

    first: int
    last: int
    start: int
    end: int


def hunks(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """The differences between two lists of lines; a common beginning and end cost almost nothing."""
    head = common(before, after)
    tail = common(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    found = SequenceMatcher(None, old, new, autojunk=len(new) > _MANY).get_opcodes()
    return [Hunk(head + a, head + b, head + c, head + d) for tag, a, b, c, d in found if tag != "equal"]


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items (lines, or characters of a string) two sequences have in common at the beginning."""
    known, open_ = 0, min(len(one), len(other))
    while known < open_:  # invariant: the first `known` items are equal, and the common part is no longer than `open_`
        middle = (known + open_ + 1) // 2
        if one[known:middle] == other[known:middle]:
            known = middle
        else:
            open_ = middle - 1
    return known
