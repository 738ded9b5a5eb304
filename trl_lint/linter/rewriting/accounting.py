"""What fixes achieved, relative to the original file: which findings are gone, which in part, and which are new.

A fix is applied to a text that earlier fixes have changed already, one finding may need several fixes, and a fixed one
may have hidden another. So nothing is counted while fixes are applied: the findings of the first text are compared with
those of the last. Each of the first is gone or remains, and each of the last existed before or was uncovered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trl_lint.findings import Finding
from trl_lint.linter.comments import suppressions
from trl_lint.linter.decoding import source_lines
from trl_lint.linter.rewriting.hunks import Hunk, hunks

Withheld = tuple[Finding, str]


@dataclass(frozen=True, slots=True)
class Counted:
    """A finding, and what identifies it: its function and metrics, or whatever else stays the same."""

    finding: Finding
    named: frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Account:
    """How findings changed with a fix.

    Attributes:
        fixed: The findings that are gone.
        partly: The findings that name less than before.
        uncovered: How many findings are new.
    """

    fixed: tuple[Finding, ...]
    partly: tuple[Finding, ...]
    uncovered: int


def account(before: Sequence[Counted], after: Sequence[Counted], old: bytes, new: bytes) -> Account:
    """Compare the findings of a text before and after fixes. Findings that comments silence are not counted."""
    left = _still_there(before, after, _Lines(old, new))
    counted = set(suppressions.split([each.finding for each in before], old)[0])
    not_silenced = set(suppressions.split([each.finding for each in after], new)[0])
    pairs = list(enumerate(before))
    fixed = (each.finding for place, each in pairs if place not in left)
    less = (each.finding for place, each in pairs if place in left and each.named - after[left[place]].named)
    new_ones = [
        each for place, each in enumerate(after) if place not in set(left.values()) and each.finding in not_silenced
    ]
    return Account(_in_order(fixed, counted), _in_order(less, counted), len(new_ones))


def _in_order(found: Iterable[Finding], counted: set[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted((each for each in found if each in counted), key=lambda each: each.sort_key))


def still_withheld(withheld: Sequence[Withheld], remaining: Sequence[Finding]) -> tuple[Withheld, ...]:
    """The fixes that were withheld in the end, each with its finding at its current place."""
    free = list(remaining)
    found = []
    for finding, reason in withheld:
        candidates = [each for each in free if (each.code, each.message) == (finding.code, finding.message)]
        if candidates:
            now = min(candidates, key=lambda each: abs(each.start.line - finding.start.line))
            free.remove(now)
            found.append((now, reason))
    return tuple(sorted(found, key=lambda each: each[0].sort_key))


def _still_there(before: Sequence[Counted], after: Sequence[Counted], lines: _Lines) -> dict[int, int]:
    """For the number of each finding that remains, the number of what it is now."""
    found: dict[int, int] = {}
    matched: set[int] = set()
    for _, first, second in sorted(_candidates(before, after, lines)):
        if first not in found and second not in matched:
            found[first] = second
            matched.add(second)
    return found


def _candidates(
    before: Sequence[Counted], after: Sequence[Counted], lines: _Lines
) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Which findings may be the same; the likeliest pair has the smallest key."""
    for first, one in enumerate(before):
        for second, other in enumerate(after):
            distance = lines.distance(one.finding.start.line, other.finding.start.line)
            if one.finding.code != other.finding.code or distance is None:
                continue
            if distance and not one.named & other.named:
                continue
            column = abs(one.finding.start.column - other.finding.start.column)
            yield (distance, len(one.named ^ other.named), column), first, second


class _Lines:
    """The correspondence between the lines of two texts."""

    def __init__(self, old: bytes, new: bytes) -> None:
        lines = source_lines(old)
        changes = hunks(lines, source_lines(new))
        self._changed: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._kept: dict[int, int] = {}
        line = shift = 0
        for number, each in enumerate([*changes, Hunk(len(lines), len(lines), 0, 0)]):
            self._kept.update((kept, kept + shift) for kept in range(line, each.first))
            self._changed[0].update(dict.fromkeys(range(each.first, each.last), number))
            self._changed[1].update(dict.fromkeys(range(each.start, each.end), number))
            line, shift = each.last, each.end - each.last

    def distance(self, line: int, other: int) -> int | None:
        """0: the same line as before. 1, 2: changed in one place, or in two. None: different, as neither changed."""
        if line - 1 in self._kept or other - 1 not in self._changed[1]:
            return 0 if self._kept.get(line - 1) == other - 1 else None
        return 1 + (self._changed[0].get(line - 1) != self._changed[1][other - 1])
