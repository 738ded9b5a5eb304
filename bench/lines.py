"""Which lines of a text became which lines of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True)
class Hunk:
    """The lines from `first` up to `last` (from 0) became those from `start` up to `end`."""

    first: int
    last: int
    start: int
    end: int


def hunks(before: Sequence, after: Sequence) -> list[Hunk]:
    """What differs between two lists of lines; what they begin and end with in common costs nothing."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Hunk(head + a, head + b, head + c, head + d) for tag, a, b, c, d in found if tag != "equal"]


def _common(one: Sequence, other: Sequence) -> int:
    length = min(len(one), len(other))
    return next((index for index in range(length) if one[index] != other[index]), length)


def carried(changes: Sequence[Hunk], first: int, last: int) -> tuple[int, int]:
    """Where the lines from `first` to `last` (from 1, both included) stand in the new text."""
    return _carried(changes, first - 1)[0] + 1, _carried(changes, last - 1)[1] + 1


def _carried(changes: Sequence[Hunk], line: int) -> tuple[int, int]:
    """The first and the last line (from 0) that an old line became; all of its hunk where it changed."""
    shift = 0
    for hunk in changes:
        if hunk.first <= line < hunk.last:
            return hunk.start, max(hunk.start, hunk.end - 1)
        if hunk.last <= line:
            shift = hunk.end - hunk.last
    return line + shift, line + shift
