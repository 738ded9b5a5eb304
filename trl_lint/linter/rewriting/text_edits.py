"""Fixes as text: the new content of a file, and the smallest edits that produce it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from trl_lint.findings import Edit, Position
from trl_lint.linter.decoding import lines_of
from trl_lint.linter.rewriting.hunks import common, hunks
from trl_lint.linter.rewriting.line_length import limit_for
from trl_lint.linter.rewriting.planning import PlannedFix
from trl_lint.linter.rewriting.regenerating import written


def transformed(fixes: Sequence[PlannedFix]) -> str:
    """The text after these fixes of one file, all of which have a plan."""
    from trl_lint.fixes.support.editing import all_edits, edited_tree

    module = fixes[0].violation.module
    plans = [each.plan for each in fixes if each.plan is not None]
    limit = limit_for(module.path, module.text)
    return written(module).after(edited_tree(module.tree, all_edits(module, plans), limit))


def edits_between(before: str, after: str) -> tuple[Edit, ...]:
    """The smallest edits, as whole lines trimmed to what differs, that turn one text into the other."""
    old, new = lines_of(before), lines_of(after)
    return tuple(smallest(old, each.first, each.last, "".join(new[each.start : each.end])) for each in hunks(old, new))


def edited(text: str, edits: Iterable[Edit]) -> str:
    """A text after edits; a place behind its end is its end."""
    starts = [0, *accumulate(map(len, lines_of(text)))]

    def offset(place: Position) -> int:
        return min(starts[min(place.line, len(starts)) - 1] + place.column - 1, len(text))

    for each in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: offset(each.start)] + each.content + text[offset(each.end) :]
    return text


def smallest(old: list[str], first: int, last: int, content: str) -> Edit:
    """The edit that replaces the lines from `first` to before `last`, counted from 0."""
    replaced = "".join(old[first:last])
    head = common(replaced, content)
    tail = common(replaced[head:][::-1], content[head:][::-1])
    start = _position(old, first, head)
    end = _position(old, first, len(replaced) - tail)
    return Edit(start, end, content[head : len(content) - tail])


def _position(lines: list[str], line: int, offset: int) -> Position:
    """The place `offset` characters after the start of a line (counted from 0)."""
    while line < len(lines) and offset >= len(lines[line]):
        offset -= len(lines[line])
        line += 1
    return Position(line + 1, offset + 1)
