"""Where the nodes of a LibCST tree stand in the text, as `libcst.metadata.PositionProvider` has it, in half the time.

The provider makes three objects for each node, though next to none of them is ever asked for. Here the four numbers
are kept, and become a range where one is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState
from libcst.metadata import CodePosition, CodeRange

_LINE_END = re.compile(r"\r\n|\r|\n")
_Numbers = tuple[int, int, int, int]


class Positions(Mapping[cst.CSTNode, CodeRange]):
    """The range of each node of a tree: lines counted from 1, columns from 0."""

    def __init__(self, tree: cst.Module) -> None:
        state = _State(tree.default_indent, tree.default_newline)
        tree._codegen(state)
        self._numbers: Mapping[cst.CSTNode, _Numbers] = state.numbers

    def __getitem__(self, node: cst.CSTNode) -> CodeRange:
        line, column, last, end = self._numbers[node]
        return CodeRange(CodePosition(line, column), CodePosition(last, end))

    def __iter__(self) -> Iterator[cst.CSTNode]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class _State(CodegenState):
    """Follows the text as it is written, and writes nothing."""

    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent, default_newline)
        self.numbers: dict[cst.CSTNode, _Numbers] = {}
        self.line, self.column = 1, 0
        self._starts: list[tuple[int, int]] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.column += len(token)

    def add_token(self, value: str) -> None:
        if not self.tokens:  # the module asks whether there are any
            self.tokens.append(value)
        if "\n" in value or "\r" in value:
            *ends, last = _LINE_END.split(value)
            self.line += len(ends)
            self.column = len(last)
        else:
            self.column += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._starts.append((self.line, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._starts.pop()
        if node not in self.numbers:  # else without the blanks around it
            self.numbers[node] = (*start, self.line, self.column)

    def record_syntactic_position(self, node: Any, *, start_node: Any = None, end_node: Any = None) -> Any:
        return _Recorded(self, node, start_node, end_node)


class _Recorded:
    """A node's own text, without the blanks that belong to it; it may start or end where a node in it does."""

    __slots__ = ("end_node", "node", "start", "start_node", "state")

    def __init__(self, state: _State, node: Any, start_node: Any, end_node: Any) -> None:
        self.state, self.node, self.start_node, self.end_node = state, node, start_node, end_node
        self.start = (state.line, state.column)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state = self.state
        start = self.start if self.start_node is None else state.numbers[self.start_node][:2]
        end = (state.line, state.column) if self.end_node is None else state.numbers[self.end_node][2:]
        state.numbers[self.node] = (*start, *end)
