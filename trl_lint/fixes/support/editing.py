"""Apply the edits planned for findings: in the statements they change, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, value_names
from trl_lint.fixes.support.edits import (
    Drop,
    Edit,
    Enclose,
    ExtendImport,
    FixPlan,
    Import,
    Insert,
    LeaveOut,
    Move,
    Part,
    Replace,
)
from trl_lint.fixes.support.importing import edits_for
from trl_lint.fixes.support.joining import joined
from trl_lint.fixes.support.node_types import BLOCKS
from trl_lint.fixes.support.scope import names_spelled
from trl_lint.fixes.support.sharing import edits_of
from trl_lint.fixes.support.wrapping import READABLE, fits, in_one, laid_out_anew, lines_of, wrapped

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

# The LibCST types of statements that new ones are put next to; each has leading lines.
_Statement: TypeAlias = cst.SimpleStatementLine | cst.BaseCompoundStatement
# The blocks that lines are put into, and a head that none of them has.
_NEW_BLOCKS = (cst.With, cst.If)
_NOT_NEW = "pass"
# A new line: its text, or a line that was moved there.
_New: TypeAlias = str | cst.SimpleStatementLine
_Indented = TypeVar("_Indented", cst.If, cst.With)


def all_edits(module: Module, rewrites: Iterable[FixPlan]) -> list[Edit]:
    """The edits of these rewrites of one file, and those for the imports they need."""
    edits = edits_of(rewrites)
    edits = [edit for edit in edits if not isinstance(edit, Drop) or _is_unused_after_edits(edit, edits)]
    needed = [edit for edit in edits if isinstance(edit, Import)]
    touched = (node for edit in edits for node in _touched(edit)[:1])
    return edits + edits_for(module, needed, touched) if needed else edits


def edited_tree(tree: cst.Module, edits: Iterable[Edit], limit: int) -> cst.Module:
    """The tree with these edits applied. A node that no edit touches is the same object as before.

    limit: the line length of the project, in characters.
    """
    return tree.visit(Editing(tree, edits, limit))


class Editing(cst.CSTTransformer):
    """Applies edits to nodes of a tree, and visits only the ancestors of these nodes."""

    def __init__(self, tree: cst.Module, edits: Iterable[Edit], limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.default = tree.default_indent
        self.indents = [""]
        self.units: list[str] = []  # the indentation of each block around
        self.replaced: dict[int, cst.BaseExpression | cst.ImportFrom] = {}
        self.before: dict[int, list[_New]] = {}
        self.below: dict[int, list[_New]] = {}  # before a statement, but below its comments
        self.behind: dict[int, list[_New]] = {}
        self.enclosed: dict[int, str] = {}
        self.blocks: dict[int, str] = {}  # the head of each block that was created around a line
        self.moved: set[int] = set()
        self.splits: dict[int, Part] = {}
        self.left_out: dict[int, frozenset[int]] = {}  # items of each `with`
        self.around: set[int] = set()
        for edit in edits:
            self._note(edit)
            for node in _touched(edit):
                self.around.update(map(id, ancestors(tree, node)))

    def on_visit(self, node: cst.CSTNode) -> bool:
        goes_in = id(node) in self.around
        if goes_in and isinstance(node, cst.IndentedBlock):
            self.units.append(self.default if node.indent is None else node.indent)
            self.indents.append(self.indents[-1] + self.units[-1])
        return goes_in

    @property
    def unit(self) -> str:
        """The indentation of a block created here: the same as that of the block around it."""
        return self.units[-1] if self.units else self.default

    def _note(self, edit: Edit) -> None:
        match edit:
            case Replace(node, by) | ExtendImport(node, by):
                self.replaced[id(node)] = by
            case Insert(anchor, code):
                codes = self._lines_at(edit).setdefault(id(anchor), [])
                if code not in codes:
                    codes.append(code)
            case Enclose(statement, head):
                self.enclosed[id(statement)] = head
            case Move(statement, anchor, behind):
                (self.behind if behind else self.before).setdefault(id(anchor), []).append(statement)
                self.moved.add(id(statement))
            case Drop(statement):
                self.moved.add(id(statement))
            case Part(statement):
                self.splits[id(statement)] = edit
            case LeaveOut(statement, items):
                self.left_out[id(statement)] = self.left_out.get(id(statement), frozenset()).union(map(id, items))

    def _lines_at(self, insert: Insert) -> dict[int, list[_New]]:
        """The new lines at each statement that are on the same side as this one."""
        if insert.behind:
            return self.behind
        return self.below if insert.below_comments else self.before

    # LibCST has no type for a node that replaces one of another kind.
    def on_leave(self, original_node: cst.CSTNode, updated_node: Any) -> Any:
        key = id(original_node)
        if key in self.around and isinstance(original_node, cst.IndentedBlock):
            self.indents.pop()
            self.units.pop()
            if id(original_node.body[0]) in self.moved:
                return _without_blank_top(updated_node)
        if key in self.around and isinstance(original_node, cst.SimpleStatementLine):
            updated_node = self._wrapped(original_node, updated_node, self.indents[-1])
        if key in self.moved:
            return cst.RemoveFromParent()
        replacement = self.replaced.get(key)
        if replacement is not None:
            return replacement.deep_clone()
        if key in self.left_out:
            updated_node = _with_fewer(original_node, updated_node, self.left_out[key])
        if key in self.enclosed:
            deeper = self._deeper(original_node, updated_node)
            updated_node = _enclosed(deeper, self.enclosed[key], self.unit if self.unit != self.default else None)
            self.blocks[id(updated_node)] = self.enclosed[key]
        elif self.blocks and isinstance(updated_node, BLOCKS):
            updated_node = updated_node.with_changes(body=self._neighbours_joined(updated_node.body))
        before, below, behind = (self._lines(each.get(key, ())) for each in (self.before, self.below, self.behind))
        if key in self.splits:
            return _split(self._with_deeper_body(updated_node), self.splits[key], before, behind)
        if not before and not below and not behind:
            return updated_node
        if isinstance(updated_node, cst.If) and not updated_node.body.body:
            return cst.FlattenSentinel(_in_place_of(updated_node, [*before, *behind]))
        *above, own = _placed_before(before, updated_node)
        return cst.FlattenSentinel([*above, *_placed_below(below, own), *behind])

    def _deeper(self, before: cst.CSTNode, statement: _Statement) -> cst.SimpleStatementLine | cst.With:
        """A line, or a `with`, that gets another level of indentation: lines are broken if they no longer fit."""
        if isinstance(statement, cst.With):
            return self._with_deeper_body(statement)
        original, line = cst.ensure_type(before, cst.SimpleStatementLine), statement
        line = cst.ensure_type(line, cst.SimpleStatementLine)
        is_readable = fits(original, READABLE, self.indents[-1])
        return self._wrapped(original, line, self.indents[-1] + self.unit) if is_readable else line

    def _with_deeper_body(self, block: _Indented) -> _Indented:
        """An `if` or `with` whose lines get another level of indentation: broken if they no longer fit."""
        self.indents.append(self.indents[-1] + self.unit)
        deeper = self.indents[-1] + self.unit
        body = [
            self._wrapped(line, line, deeper) if isinstance(line, cst.SimpleStatementLine) else line
            for line in block.body.body
        ]
        footer = [_as_it_is(each, self.indents[-1]) for each in cst.ensure_type(block.body, cst.IndentedBlock).footer]
        self.indents.pop()
        return block.with_deep_changes(block.body, body=body, footer=footer)

    def _lines(self, lines: Sequence[_New]) -> list[_Statement]:
        """New lines for these texts, and copies of the moved lines."""
        return [self._line(each) if isinstance(each, str) else each.deep_clone() for each in lines]

    def _line(self, text: str) -> _Statement:
        line = cst.parse_statement(text)
        if isinstance(line, cst.SimpleStatementLine):
            return wrapped(joined(line) or line, self.limit, self.indents[-1], self.unit)
        return line

    def _wrapped(
        self, before: cst.SimpleStatementLine, line: cst.SimpleStatementLine, indent: str
    ) -> cst.SimpleStatementLine:
        """A changed statement, broken into more lines if it was short enough before and is too long now.

        One that needed several lines before, and no longer does, is on one line now.
        """
        old = lines_of(before)
        if len(old) == 1 and not fits(before, self.limit, self.indents[-1]):
            return line
        if len(old) > 1:
            indents = (self.indents[-1], indent)
            new = laid_out_anew(before, line, self.limit, indents, self.unit) or in_one(
                before, line, self.limit, indent
            )
            if new is not None:
                return new
        return wrapped(line, self.limit, indent, self.unit, () if len(old) == 1 else frozenset(old))

    def _neighbours_joined(self, statements: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """The statements, with adjacent new blocks joined that have the same head."""
        joined: list[cst.BaseStatement] = []
        head = _NOT_NEW
        for each in statements:
            head_of_block = self.blocks.get(id(each), "")
            last = joined[-1] if joined else None
            if head_of_block == head and isinstance(each, _NEW_BLOCKS) and isinstance(last, _NEW_BLOCKS):
                joined[-1] = _with_more(last, each)
            else:
                joined.append(each)
            head = head_of_block or _NOT_NEW
        return joined


def _with_more(block: cst.With | cst.If, other: cst.With | cst.If) -> cst.With | cst.If:
    """A block that was created around a line, extended by the contents of another one."""
    first, *rest = other.body.body
    leading = [_inside(line) for line in other.leading_lines]
    return block.with_deep_changes(
        block.body, body=[*block.body.body, first.with_changes(leading_lines=leading), *rest]
    )


def _without_blank_top(block: cst.IndentedBlock) -> cst.IndentedBlock:
    """A block whose first line was moved away, without the blank lines that followed it."""
    first = block.body[0] if block.body else None
    if not isinstance(first, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        return block
    kept = list(dropwhile(lambda line: line.comment is None, first.leading_lines))
    return block.with_changes(body=[first.with_changes(leading_lines=kept), *block.body[1:]])


def _touched(edit: Edit) -> list[cst.CSTNode]:
    """The nodes that an edit changes, or puts something next to; none if it only requests an import."""
    match edit:
        case (
            Replace(node) | ExtendImport(node) | Insert(node) | Enclose(node) | Drop(node) | Part(node) | LeaveOut(node)
        ):
            return [node]
        case Move(statement, anchor):
            return [statement, anchor]
    return []


def _is_unused_after_edits(drop: Drop, edits: Iterable[Edit]) -> bool:
    """Whether a name is read only in code that these edits replace, and not in the code that they insert."""
    removed = {id(node) for edit in edits if isinstance(edit, Replace) for node in below(edit.node)}
    removed.update(map(id, below(drop.statement)))
    new = (name.value for edit in edits if isinstance(edit, Replace) for name in value_names(edit.by))
    return drop.name not in new and all(id(name) in removed for name in names_spelled(drop.root, drop.name))


def _enclosed(line: cst.SimpleStatementLine | cst.With, head: str, indent: str | None) -> cst.BaseStatement:
    """The line, or the `with`, in a new block, after the comments above it. indent: None for that of the file."""
    block = cst.IndentedBlock([line.with_changes(leading_lines=[])], indent=indent)
    around = cst.parse_statement(f"{head}:\n    pass\n")
    return around.with_changes(body=block, leading_lines=line.leading_lines)


def _with_fewer(before: cst.CSTNode, block: cst.With, left_out: frozenset[int]) -> cst.With:
    """A `with` without some of its items. One that is left alone needs no parentheses around it."""
    old = cst.ensure_type(before, cst.With).items
    kept = [new for item, new in zip(old, block.items, strict=True) if id(item) not in left_out]
    kept[-1] = kept[-1].with_changes(comma=block.items[-1].comma)
    if len(kept) > 1 or not isinstance(block.lpar, cst.LeftParen):
        return block.with_changes(items=kept)
    alone = [kept[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
    bare = {"lpar": cst.MaybeSentinel.DEFAULT, "rpar": cst.MaybeSentinel.DEFAULT}
    return block.with_changes(items=alone, whitespace_after_with=cst.SimpleWhitespace(" "), **bare)


def _inside(line: cst.EmptyLine) -> cst.EmptyLine:
    """A line above a statement that moves into a block: a blank one gets no indentation."""
    return line.with_changes(indent=line.comment is not None)


def _as_it_is(line: cst.EmptyLine, indent: str) -> cst.EmptyLine:
    """A line at the end of a block that moves into another one: a blank one, which seems to be below it, stays."""
    if line.comment is not None or not line.indent:
        return line
    return line.with_changes(indent=False, whitespace=cst.SimpleWhitespace(indent + line.whitespace.value))


def _split(block: cst.If, part: Part, before: list[_Statement], behind: list[_Statement]) -> cst.If:
    """The `if` around new lines, and around itself with the other part of its condition if anything is left in it."""
    blank = cst.SimpleWhitespace(" ")
    outer = block.with_changes(test=part.outer.deep_clone(), whitespace_before_test=blank)
    if not block.body.body:
        return outer.with_changes(body=block.body.with_changes(body=[*before, *behind]))
    inner = block.with_changes(test=part.inner.deep_clone(), whitespace_before_test=blank, leading_lines=[])
    return outer.with_changes(body=cst.IndentedBlock([*before, inner, *behind]))


def _in_place_of(block: cst.If, lines: list[_Statement]) -> list[_Statement]:
    """The lines that remain of a block, with what was above it."""
    first, *rest = lines
    return [first.with_changes(leading_lines=[*block.leading_lines, *first.leading_lines]), *rest]


def _placed_before(lines: list[_Statement], statement: _Statement) -> list[_Statement]:
    """New lines before a statement, which keeps its comments; blank lines above it come first."""
    if not lines:
        return [statement]
    comments = _comments(statement)
    blank = statement.leading_lines[: len(statement.leading_lines) - len(comments)]
    first, *rest = lines
    return [
        first.with_changes(leading_lines=[*blank, *_comments(first)]),
        *rest,
        statement.with_changes(leading_lines=comments),
    ]


def _placed_below(lines: list[_Statement], statement: _Statement) -> list[_Statement]:
    """New lines between a statement and what is above it, which is then above them."""
    if not lines:
        return [statement]
    first, *rest = lines
    return [
        first.with_changes(leading_lines=statement.leading_lines),
        *rest,
        statement.with_changes(leading_lines=[]),
    ]


def _comments(line: _Statement) -> list[cst.EmptyLine]:
    """The leading lines of a statement, from the first comment on."""
    leading = list(line.leading_lines)
    comment = next((index for index, each in enumerate(leading) if each.comment is not None), len(leading))
    return leading[comment:]
