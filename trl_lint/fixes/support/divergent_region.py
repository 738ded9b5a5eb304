"""The lines that only some ranks get to, with what is planned for them, and why a plan may come to nothing."""

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
    """Why a fix is left to the author, in words for the hint."""


@dataclass(slots=True)
class DivergentRegion:
    """What only some ranks get to: lines of one block of `root`, in the module `tree`.

    guard: the statement before which all ranks get. test: what decides there who gets to the lines. reads: the names
    and attributes that it reads, less those that say which rank this is. called: the collectives there, by the id of
    their node. ends: whether all ranks come together again behind these lines. shared: what of the condition goes on to
    be asked around the lines that all ranks get. moved, edits, names: what is planned for them so far, and the names
    that are new.
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
