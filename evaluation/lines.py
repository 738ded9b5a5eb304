"""Map lines of a text to lines of its changed version."""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint.linter.rewriting.hunks import Hunk


def carried(changes: Sequence[Hunk], first: int, last: int) -> tuple[int, int]:
    """The new range of the lines from `first` to `last` (from 1, both included)."""
    return _carried(changes, first - 1)[0] + 1, _carried(changes, last - 1)[1] + 1


def _carried(changes: Sequence[Hunk], line: int) -> tuple[int, int]:
    """The first and the last line (from 0) that an old line became: all of its hunk if it changed."""
    shift = 0
    for hunk in changes:
        if hunk.first <= line < hunk.last:
            return hunk.start, max(hunk.start, hunk.end - 1)
        if hunk.last <= line:
            shift = hunk.end - hunk.last
    return line + shift, line + shift
