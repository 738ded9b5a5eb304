"""What all commands share: they make the edits that are planned for findings, and find nothing themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import libcst as cst
from libcst.codemod import CodemodContext, VisitorBasedCodemodCommand

from trl_lint.fixes.support.edits import Enclose, Import, Insert, Move, Part, Replace
from trl_lint.fixes.support.importing import edits_for
from trl_lint.fixes.support.sharing import edits_of
from trl_lint.rules.base import Problem


class FindingCommand(VisitorBasedCodemodCommand):
    """A command that makes the edits its rule has planned, and detects nothing itself.

    Alone (`python -m libcst.tool codemod -x trl_lint.codemods.<module>.<Command> PATH`) it has the linter apply
    the safe fixes of its rule, which hands it the `problems` it has chosen: all of them have a plan.
    """

    CODE: ClassVar[str]

    def __init__(self, context: CodemodContext, problems: Sequence[Problem] | None = None) -> None:
        super().__init__(context)
        self.problems = problems
        self.replaced: dict[int, cst.BaseExpression] = {}
        # New lines, as text, and lines that were moved there.
        self.before: dict[int, list[Any]] = {}
        self.behind: dict[int, list[Any]] = {}
        self.enclosed: dict[int, str] = {}
        self.moved: set[int] = set()
        self.parted: dict[int, Part] = {}

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        if self.problems is None:
            return self._mended_by_the_linter(tree)
        edits = edits_of(problem.plan for problem in self.problems)
        needed = [edit for edit in edits if isinstance(edit, Import)]
        if needed:
            edits += edits_for(self.problems[0].module, needed, filter(None, map(_changed, edits)))
        for edit in edits:
            self._note(edit)
        # LibCST hands over a copy; findings point into the tree they were found in.
        return super().transform_module_impl(self.problems[0].module.tree)

    def _mended_by_the_linter(self, tree: cst.Module) -> cst.Module:
        from trl_lint.linter.linter import mended

        path = Path(self.context.filename or "<string>")
        source = mended(path, tree.bytes, self.CODE)
        return tree if source == tree.bytes else cst.parse_module(source)

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

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        updated = super().on_leave(original_node, updated_node)
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
