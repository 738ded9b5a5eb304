"""Launch commands in notebooks, matched across all cells, because one cell may affect others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trl_lint.findings import Finding, Position
from trl_lint.linter.cells.notebook import all_cells
from trl_lint.linter.cells.places import CodePart, moved
from trl_lint.linter.rewriting.accounting import Account, Counted, account


def accounted(
    path: Path, before: Sequence[Counted], after: Sequence[Counted], source: bytes, current: bytes
) -> Account:
    """Which launches of a notebook were fixed, at places in its cells."""
    old, new = (all_cells(path, content) for content in (source, current))
    result = account(_in_module(old, before), _in_module(new, after), old.source, new.source)
    return Account(_in_file(old, result.fixed), _in_file(old, result.partly), result.uncovered)


def _in_module(part: CodePart, found: Sequence[Counted]) -> list[Counted]:
    def move(path: str, place: Position) -> tuple[str, Position]:
        return path, part.to_module(place) or place

    return [replace(each, finding=moved(each.finding, move)) for each in found]


def _in_file(part: CodePart, found: Sequence[Finding]) -> tuple[Finding, ...]:
    def move(path: str, place: Position) -> tuple[str, Position]:
        return path, part.to_file(place)

    return tuple(moved(each, move) for each in found)
