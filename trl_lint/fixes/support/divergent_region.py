"""The lines that only some ranks reach, with the edits planned for them, and the reason if there is no plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.fixes.support.edits import Edit, Part
from trl_lint.fixes.support.node_types import Scope

if TYPE_CHECKING:
    from trl_lint.domain.sync_points import SyncPoint


class LeftToAuthor(Exception):
    """The reason why a fix is left to the author, worded for the hint."""


@dataclass(slots=True)
class DivergentRegion:
    """Code that only some ranks reach: lines of one block of `root`, in the module `tree`.

    Attributes:
        guard: The statement that all ranks reach, before which calls are put.
        test: The condition that decides which ranks reach the lines.
        reads: The names and attributes that the condition reads, except those that identify the rank.
        called: The collectives there, by the id of their node.
        ends: Whether all ranks continue together after these lines.
        shared: The part of the condition that is kept around the lines for all ranks.
        moved, edits, names: What is planned so far, and the new names.
    """

    tree: cst.Module
    root: Scope
    guard: cst.If | cst.SimpleStatementLine
    test: cst.BaseExpression
    reads: frozenset[str]
    lines: Sequence[cst.BaseStatement]
    called: dict[int, SyncPoint]
    ends: bool = False
    shared: Part | None = None
    moved: list[cst.SimpleStatementLine] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def is_moved(self, line: cst.BaseStatement) -> bool:
        return any(each is line for each in self.moved)
