"""Positions of LibCST nodes in the text: the same as `libcst.metadata.PositionProvider`, in less time.

The provider generates the code of the whole tree and creates three objects per node, though almost none are needed.
Here only the statement around a node is generated and searched for in the text (if the text contains it twice, the
whole function is used). Four numbers are kept per node, and turned into a range on request.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType, TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState
from libcst.metadata import CodePosition, CodeRange

from trl_lint.analysis.program.syntax import ancestors

_LINE_END = re.compile(r"\r\n|\r|\n")
_Numbers = tuple[int, int, int, int]


class Positions(Mapping[cst.CSTNode, CodeRange]):
    """The range of each node of a tree: lines counted from 1, columns from 0.

    text: what the tree was parsed from. Without it, code is generated for the whole tree. replaced: by the id of a node
    of an earlier tree, the node that is in its place.
    """

    def __init__(
        self, tree: cst.Module, text: str = "", replaced: Mapping[int, cst.CSTNode] = MappingProxyType({})
    ) -> None:
        self._tree = tree
        self._replaced = replaced
        # Each statement ends with a line end where it is generated, also the last one of a text without it.
        self._text = text if not text or text.endswith(("\n", "\r")) else text + tree.default_newline
        self._numbers: dict[cst.CSTNode, _Numbers] = {}
        self._is_whole = False

    def __getitem__(self, node: cst.CSTNode) -> CodeRange:
        if node not in self._numbers and not self._is_whole:
            self._find(node)  # or all of the tree, if it is not in it
        if node not in self._numbers:
            node = self._replaced.get(id(node), node)
        line, column, last, end = self._numbers[node]
        return CodeRange(CodePosition(line, column), CodePosition(last, end))

    def __iter__(self) -> Iterator[cst.CSTNode]:
        self._find_all()
        return iter(self._numbers)

    def __len__(self) -> int:
        self._find_all()
        return len(self._numbers)

    @cached_property
    def _line_starts(self) -> list[int]:
        """Where the lines of the text begin, without the first."""
        return [match.end() for match in _LINE_END.finditer(self._text)]

    def _find_all(self) -> None:
        if not self._is_whole:
            state = self._state()
            self._tree._codegen(state)
            self._numbers, self._is_whole = state.numbers, True

    def _find(self, node: cst.CSTNode) -> None:
        """Find a node and all other nodes of its statement, or of its function; fall back to the whole tree."""
        for statement, indentation in self._statements_around(node):
            state = self._state()
            for indent in indentation:
                state.increase_indent(indent)
            statement._codegen(state)
            code = "".join(state.tokens)
            start = self._text.find(code)
            if start >= 0 and self._text.find(code, start + 1) < 0:
                above = bisect_right(self._line_starts, start)
                for each, (line, column, last, end) in state.numbers.items():
                    self._numbers[each] = (line + above, column, last + above, end)
                return
        self._find_all()

    def _statements_around(self, node: cst.CSTNode) -> Sequence[tuple[cst.BaseStatement, tuple[str, ...]]]:
        """The innermost and the outermost non-class statement around a node, each with its indentation."""
        found: list[tuple[cst.BaseStatement, tuple[str, ...]]] = []
        indentation: tuple[str, ...] = ()
        before: cst.CSTNode | None = None
        for each in (*ancestors(self._tree, node), node) if self._text else ():
            if isinstance(each, cst.IndentedBlock):
                indentation = (*indentation, self._tree.default_indent if each.indent is None else each.indent)
            elif isinstance(each, cst.BaseStatement) and not isinstance(each, cst.ClassDef):
                is_elif = isinstance(before, cst.If) and before.orelse is each  # generated as an `if`
                found[1:] = [] if is_elif else [(each, indentation)]
            before = each
        found.reverse()
        return found

    def _state(self) -> _State:
        return _State(self._tree.default_indent, self._tree.default_newline)


class _State(CodegenState):
    """Tracks the position in the text as code is generated."""

    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent, default_newline)
        self.numbers: dict[cst.CSTNode, _Numbers] = {}
        self.line, self.column = 1, 0
        self._starts: list[tuple[int, int]] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.tokens.append(token)
            self.column += len(token)

    def add_token(self, value: str) -> None:
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
        if node not in self.numbers:  # otherwise recorded already, without the whitespace around it
            self.numbers[node] = (*start, self.line, self.column)

    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Any:  # LibCST annotates the class of `contextmanager`, which is half as fast
        return _Recorded(self, node, start_node, end_node)


class _Recorded:
    """A node's own text, without its surrounding whitespace; it may start or end where a given inner node does."""

    __slots__ = ("end_node", "node", "start", "start_node", "state")

    def __init__(
        self, state: _State, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> None:
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
