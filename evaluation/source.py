"""A parsed file that is mutated as text: nodes, their places, edits that keep everything else byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from trl_lint.analysis.program.syntax import below

Node = TypeVar("Node", bound=cst.CSTNode)
STATEMENTS = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
BLOCKS = (cst.IndentedBlock, cst.Module)


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the characters from `start` up to `end` by `new`."""

    start: int
    end: int
    new: str


class Source:
    """One file: its text, its tree, and the place of every node in the text."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.module = cst.parse_module(text)
        self._metadata = MetadataWrapper(self.module, unsafe_skip_copy=True)

    @cached_property
    def positions(self) -> dict:
        return dict(self._metadata.resolve(PositionProvider))

    @cached_property
    def parents(self) -> dict:
        return dict(self._metadata.resolve(ParentNodeProvider))

    @cached_property
    def _by_type(self) -> dict[type, list]:
        found: dict[type, list] = {}
        for node in descendants(self.module):
            found.setdefault(type(node), []).append(node)
        return found

    def all(self, *kinds: type[Node]) -> list[Node]:
        """All nodes of exactly these types, in the order of the text for each type."""
        return [node for kind in kinds for node in self._by_type.get(kind, ())]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *accumulate(len(line) for line in self.text.splitlines(keepends=True))]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """The start and end of the node in the text (without parentheses around it)."""
        place = self.positions[node]
        first = self._line_starts[place.start.line - 1] + place.start.column
        return first, self._line_starts[place.end.line - 1] + place.end.column

    def code(self, node: cst.CSTNode) -> str:
        """The text of the node in the file."""
        start, end = self.span(node)
        return self.text[start:end]

    def line(self, node: cst.CSTNode) -> int:
        return self.positions[node].start.line

    def line_start(self, node: cst.CSTNode) -> int:
        """The start of the line on which the node starts."""
        return self._line_starts[self.line(node) - 1]

    def offset_of_line(self, line: int) -> int:
        return self._line_starts[min(line, len(self._line_starts)) - 1]

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The parents of the node, from the nearest to the module."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def enclosing(self, node: cst.CSTNode, *kinds: type[Node]) -> Node | None:
        """The nearest parent of one of these kinds."""
        return next((parent for parent in self.ancestors(node) if isinstance(parent, kinds)), None)

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement of a block that holds the node (or is it)."""
        for candidate in (node, *self.ancestors(node)):
            if isinstance(candidate, STATEMENTS) and isinstance(self.parents.get(candidate), BLOCKS):
                return candidate
        return self.module

    def top_level(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement of the module that holds the node."""
        holders = [node, *self.ancestors(node)]
        return holders[-2] if len(holders) > 1 else node

    def header_span(self, statement: cst.CSTNode) -> tuple[int, int]:
        """The span of a statement; of a compound one, up to its body."""
        start, end = self.span(statement)
        body = getattr(statement, "body", None)
        return (start, self.span(body)[0]) if isinstance(body, cst.BaseSuite) else (start, end)

    def symbol(self, node: cst.CSTNode) -> str:
        """The dotted name of the function that holds the node."""
        holders = [n for n in self.ancestors(node) if isinstance(n, (cst.FunctionDef, cst.ClassDef))]
        return ".".join(holder.name.value for holder in reversed(holders)) or "<module>"


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made; they do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def moved(offset: int, edits: Sequence[Edit]) -> int:
    """The position in the new text of a position in the old one; a position inside an edit maps to its start."""
    shift = 0
    for edit in sorted(edits):
        if edit.end <= offset:
            shift += len(edit.new) - (edit.end - edit.start)
        elif edit.start < offset:
            return edit.start + shift
    return offset + shift


def line_of(text: str, offset: int) -> int:
    """The line (from 1) of a position in the text."""
    return text.count("\n", 0, offset) + 1


def descendants(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """All nodes below a node except whitespace and punctuation, in the order of the text."""
    yield from islice(below(node), 1, None)


def dotted(node: cst.CSTNode) -> str | None:
    """`x`, `self.x`, `a.b.c`; None for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = dotted(node.value)
        return base and f"{base}.{node.attr.value}"
    return None
