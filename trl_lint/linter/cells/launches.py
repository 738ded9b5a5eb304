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
    told = account(_inside(old, before), _inside(new, after), old.source, new.source)
    return Account(_outside(old, told.fixed), _outside(old, told.partly), told.uncovered)


def _inside(part: CodePart, found: Sequence[Counted]) -> list[Counted]:
    def move(path: str, place: Position) -> tuple[str, Position]:
        return path, part.here(place) or place

    return [replace(each, finding=moved(each.finding, move)) for each in found]


def _outside(part: CodePart, found: Sequence[Finding]) -> tuple[Finding, ...]:
    def move(path: str, place: Position) -> tuple[str, Position]:
        return path, part.there(place)

    return tuple(moved(each, move) for each in found)
