"""The text of a tree in which some nodes of another one were replaced: code is generated only for what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst
from libcst._nodes.internal import CodegenState

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

# Start and end in a text, and the replacement.
_Splice = tuple[int, int, str]
# Nodes that contain statements; a module has `SimpleStatementLine`s as well as `BaseStatement`s, which are separate
# types.
_Block: TypeAlias = cst.Module | cst.IndentedBlock
_Statements: TypeAlias = Sequence[cst.SimpleStatementLine | cst.BaseStatement]
# The statements that a block may contain.
_STATEMENTS = frozenset((cst.SimpleStatementLine, *cst.BaseCompoundStatement.__subclasses__()))


class Written:
    """A tree as text, and the position of each statement: from the blank lines above it to its line end."""

    def __init__(self, tree: cst.Module) -> None:
        self.tree = tree
        state = _Marking(tree.default_indent, tree.default_newline)
        tree._codegen(state)
        self.code = "".join(state.tokens)
        ends = list(accumulate(map(len, state.tokens), initial=0))
        last = len(ends) - 1  # the line end that the text lacks was removed again
        self._spans = {node: (ends[min(a, last)], ends[min(b, last)]) for node, (a, b) in state.marks.items()}

    def after(self, new: cst.Module) -> str:
        """The text of a tree that shares all unchanged nodes with this one."""
        if new is self.tree:
            return self.code
        splices = self._splices(self.tree, new, ()) if self.tree.has_trailing_newline else None
        return new.code if splices is None else _spliced(self.code, splices)

    def _splices(self, old: _Block, new: _Block, indents: tuple[str, ...]) -> list[_Splice] | None:
        """The differences between two blocks with the same head; None if they are not in their statements alone."""
        if not (old.body and new.body) or not _differs_only_in_statements(old, new):
            return None
        found: list[_Splice] = []
        for start, end, lines in _changes(old.body, new.body):
            inner = self._inside(old.body[start:end], lines, indents)
            found += [self._whole(old.body, start, end, lines, indents)] if inner is None else inner
        return found

    def _inside(self, before: _Statements, after: _Statements, indents: tuple[str, ...]) -> list[_Splice] | None:
        """The differences within a single statement with a block, if nothing else in it differs."""
        if len(before) != 1 or len(after) != 1 or type(before[0]) is not type(after[0]):
            return None
        old, new = before[0], after[0]
        block, other = getattr(old, "body", None), getattr(new, "body", None)
        if not isinstance(block, cst.IndentedBlock) or not isinstance(other, cst.IndentedBlock):
            return None
        if not _differs_only_in_statements(old, new):
            return None
        indent = self.tree.default_indent if block.indent is None else block.indent
        return self._splices(block, other, (*indents, indent))

    def _whole(self, body: _Statements, start: int, end: int, lines: _Statements, indents: tuple[str, ...]) -> _Splice:
        """Generated statements that replace those from `start` to before `end`."""
        first = self._spans[body[start]][0] if start < len(body) else self._spans[body[-1]][1]
        last = self._spans[body[end - 1]][1] if end > start else first
        state = CodegenState(self.tree.default_indent, self.tree.default_newline, indent_tokens=list(indents))
        for line in lines:
            line._codegen(state)
        return first, last, "".join(state.tokens)


class _Marking(CodegenState):
    """Records the tokens that each statement is written as."""

    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent, default_newline)
        self.marks: dict[cst.CSTNode, tuple[int, int]] = {}
        self._starts: list[int] = []

    def before_codegen(self, node: cst.CSTNode) -> None:
        if node.__class__ in _STATEMENTS:
            self._starts.append(len(self.tokens))

    def after_codegen(self, node: cst.CSTNode) -> None:
        if node.__class__ in _STATEMENTS:
            self.marks[node] = (self._starts.pop(), len(self.tokens))


def _spliced(text: str, splices: Sequence[_Splice]) -> str:
    parts, at = [], 0
    for start, end, content in splices:
        parts += [text[at:start], content]
        at = end
    return "".join([*parts, text[at:]])


def _differs_only_in_statements(old: cst.CSTNode, new: cst.CSTNode) -> bool:
    """Whether two nodes are the same except for the statements in them."""
    names = (field.name for field in fields(old))
    return all(_is_same(getattr(old, name), getattr(new, name)) for name in names if name != "body")


def _is_same(old: object, new: object) -> bool:
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(map(_is_same, old, new))
    return old is new or (isinstance(old, str | bool) and old == new)


def _changes(old: _Statements, new: _Statements) -> Iterator[tuple[int, int, _Statements]]:
    """Which ranges of statements were replaced, and by what."""
    places = {id(node): place for place, node in enumerate(new)}
    kept = [(place, places[id(node)]) for place, node in enumerate(old) if id(node) in places]
    begin = first = 0
    for end, last in [*kept, (len(old), len(new))]:
        if end > begin or last > first:
            yield begin, end, new[first:last]
        begin, first = end + 1, last + 1


def written(module: Module) -> Written:
    """A module of the analysis as text; generated once, when it is first needed."""
    known = module.written
    if not isinstance(known, Written):
        known = module.written = Written(module.tree)
    return known
