"""Make the edits that are planned for findings: in the statements they change, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors
from trl_lint.fixes.support.edits import Edit, Enclose, FixPlan, Import, Insert, Move, Part, Replace
from trl_lint.fixes.support.importing import edits_for
from trl_lint.fixes.support.sharing import edits_of


def all_edits(module: Any, rewrites: Iterable[FixPlan]) -> list[Edit]:
    """The edits of these rewrites of one file, and those that import what they need."""
    edits = edits_of(rewrites)
    needed = [edit for edit in edits if isinstance(edit, Import)]
    return edits + edits_for(module, needed, filter(None, map(_changed, edits))) if needed else edits


def mended_tree(tree: cst.Module, edits: Iterable[Edit]) -> cst.Module:
    """The tree with these edits made. What none of them touches is the very node that it was."""
    return tree.visit(Editing(tree, edits))


class Editing(cst.CSTTransformer):
    """Makes edits of nodes of a tree, and looks only into what lies around these nodes."""

    def __init__(self, tree: cst.Module, edits: Iterable[Edit]) -> None:
        super().__init__()
        self.replaced: dict[int, cst.BaseExpression] = {}
        # New lines, as text, and lines that were moved there.
        self.before: dict[int, list[Any]] = {}
        self.behind: dict[int, list[Any]] = {}
        self.enclosed: dict[int, str] = {}
        self.moved: set[int] = set()
        self.parted: dict[int, Part] = {}
        self.around: set[int] = set()
        for edit in edits:
            self._note(edit)
            for node in (_changed(edit), getattr(edit, "anchor", None)):
                self.around.update(() if node is None else map(id, ancestors(tree, node)))

    def on_visit(self, node: cst.CSTNode) -> bool:
        return id(node) in self.around

    def _note(self, edit: Any) -> None:
        match edit:
            case Replace(node, by):
                self.replaced[id(node)] = by
            case Insert(anchor, code, behind):
                codes = (self.behind if behind else self.before).setdefault(id(anchor), [])
                if code not in codes:
                    codes.append(code)
            case Enclose(statement, head):
                self.enclosed[id(statement)] = head
            case Move(statement, anchor, behind):
                (self.behind if behind else self.before).setdefault(id(anchor), []).append(statement)
                self.moved.add(id(statement))
            case Part(statement):
                self.parted[id(statement)] = edit

    def on_leave(self, original_node: Any, updated: Any) -> Any:
        if id(original_node) in self.moved:
            return cst.RemoveFromParent()
        replacement = self.replaced.get(id(original_node))
        if replacement is not None:
            return replacement.deep_clone()
        head = self.enclosed.get(id(original_node))
        if head is not None:
            updated = _enclosed(updated, head)
        before = self.before.get(id(original_node), ())
        behind = self.behind.get(id(original_node), ())
        if id(original_node) in self.parted:
            return _parted(updated, self.parted[id(original_node)], _lines(before), _lines(behind))
        if not before and not behind:
            return updated
        if isinstance(updated, cst.If) and not updated.body.body:
            return cst.FlattenSentinel(_in_place_of(updated, _lines([*before, *behind])))
        return cst.FlattenSentinel([*_placed_before(before, updated), *_lines(behind)])


def _changed(edit: Any) -> Any:
    """The node that an edit changes, or puts something beside; None where it only says what is imported."""
    match edit:
        case Replace(node) | Insert(node) | Enclose(node) | Move(node) | Part(node):
            return node
    return None


def _enclosed(line: Any, head: str) -> Any:
    """The line in a block, behind the comments that stand above it."""
    block = cst.IndentedBlock([line.with_changes(leading_lines=[])])
    around = cst.parse_statement(f"{head}:\n    pass\n")
    return around.with_changes(body=block, leading_lines=line.leading_lines)


def _parted(block: Any, part: Part, before: list[Any], behind: list[Any]) -> Any:
    """The `if` around new lines, and around itself with the other part of its condition if anything is left in it."""
    blank = cst.SimpleWhitespace(" ")
    outer = block.with_changes(test=part.outer.deep_clone(), whitespace_before_test=blank)
    if not block.body.body:
        return outer.with_changes(body=block.body.with_changes(body=[*before, *behind]))
    inner = block.with_changes(test=part.inner.deep_clone(), whitespace_before_test=blank, leading_lines=[])
    return outer.with_changes(body=cst.IndentedBlock([*before, inner, *behind]))


def _lines(codes: Sequence[Any]) -> list[Any]:
    """New lines of these texts, and copies of those that have been moved."""
    return [cst.parse_statement(code) if isinstance(code, str) else code.deep_clone() for code in codes]


def _in_place_of(block: Any, lines: list[Any]) -> list[Any]:
    """The lines that are left of a block, with what stood above it."""
    first, *rest = lines
    return [first.with_changes(leading_lines=[*block.leading_lines, *first.leading_lines]), *rest]


def _placed_before(codes: Sequence[Any], statement: Any) -> list[Any]:
    """New lines and the statement they stand before, which keeps its comments; the blank lines come first."""
    if not codes:
        return [statement]
    comments = _comments(statement)
    blank = statement.leading_lines[: len(statement.leading_lines) - len(comments)]
    first, *rest = _lines(codes)
    return [
        first.with_changes(leading_lines=[*blank, *_comments(first)]),
        *rest,
        statement.with_changes(leading_lines=comments),
    ]


def _comments(line: Any) -> list[Any]:
    """What stands above a line, from its first comment on."""
    leading = list(line.leading_lines)
    comment = next((index for index, each in enumerate(leading) if each.comment is not None), len(leading))
    return leading[comment:]
