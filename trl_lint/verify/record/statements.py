"""The statements of a file that ran, in the order of their marks, and how they are nested."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from io import StringIO
from pathlib import Path

from trl_lint.verify.rank.marking import marked_statements

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
# The greatest number of characters in a quoted statement.
LONGEST_HEADER = 80
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Statements without blocks that may hold expressions, and expressions that may run a function.
_SIMPLE = (ast.Return, ast.Raise, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Pass, ast.Break, ast.Continue)
_CALLING = (ast.Call, ast.Subscript, ast.Await, ast.Yield, ast.YieldFrom, ast.comprehension)
_INSIDE = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class BlockName:
    """A block of a statement: the number of the statement (-1 for the body of a scope), and which of its blocks.

    part: the field of the node; case: the position among `except` clauses or cases.
    """

    owner: int
    part: str = "body"
    case: int = 0


@dataclass(frozen=True)
class Statement:
    """One statement. `number` is its number in the file; `scope` is that of the function around it, -1 for none.

    index: its position in the block. is_first, is_last: among the executed statements of the block.
    """

    number: int
    node: ast.stmt
    block: BlockName
    index: int
    scope: int
    is_first: bool
    is_last: bool

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def is_entry(self) -> bool:
        """Whether each call of its function begins with it."""
        return self.is_first and self.block == BlockName(-1)

    @cached_property
    def is_elif(self) -> bool:
        return isinstance(self.node, ast.If) and self.block.part == "orelse" and self.is_first and self.is_last


class Statements:
    """The statements of one text.

    Raises:
        SyntaxError, ValueError: it is not valid Python.
    """

    def __init__(self, text: bytes) -> None:
        self.lines = text.decode("utf-8", "replace").splitlines()
        self.tree = ast.parse(text)
        found = list(marked_statements(self.tree))
        self._numbers = {id(block[index]): number for number, (_, _, block, index) in enumerate(found)}
        self._holders = dict(self._held())
        executed: dict[int, list[int]] = {}
        for _, _, block, index in found:
            executed.setdefault(id(block), []).append(index)
        self.all = [
            self._new_statement(number, owner, part, block[index], index, executed[id(block)])
            for number, (owner, part, block, index) in enumerate(found)
        ]

    def _held(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """By `except` clause or case, the number of its statement and its position."""
        for node in ast.walk(self.tree):
            for each in (getattr(node, "handlers", ()), getattr(node, "cases", ())):
                for place, held in enumerate(each if isinstance(each, list) else ()):
                    yield id(held), (self._numbers[id(node)], place)

    def _new_statement(
        self, number: int, owner: ast.AST, part: str, node: ast.stmt, index: int, executed: list[int]
    ) -> Statement:
        holder, case = self._holders.get(id(owner), (self._numbers.get(id(owner), -1), 0))
        if isinstance(owner, (ast.ExceptHandler, ast.match_case)):
            part = "handlers" if isinstance(owner, ast.ExceptHandler) else "cases"
        is_scope = isinstance(owner, (ast.Module, *_FUNCTIONS))
        return Statement(
            number,
            node,
            BlockName(-1 if is_scope else holder, part, case),
            index,
            self._scopes[number],
            index == executed[0],
            index == executed[-1],
        )

    @cached_property
    def _scopes(self) -> list[int]:
        """By statement, the function around it."""
        scopes = [-1] * len(self._numbers)

        def walk(node: ast.AST, scope: int) -> None:
            number = self._numbers.get(id(node))
            if number is not None:
                scopes[number] = scope
            inner = number if isinstance(node, _FUNCTIONS) and number is not None else scope
            for child in ast.iter_child_nodes(node):
                walk(child, inner)

        walk(self.tree, -1)
        return scopes

    def at(self, line: int, column: int = 0) -> Statement | None:
        """The innermost statement of a line (from 1), or of a column (from 1) in it."""
        found = None
        for each in self.all:  # the outermost first
            begin = min([each.line, *(one.lineno for one in getattr(each.node, "decorator_list", ()))])
            end = (each.node.end_lineno or each.line, each.node.end_col_offset or 0)
            after = begin < line or (
                begin == line and (not column or each.node.col_offset < self._offset(line, column))
            )
            if after and (line < end[0] or (line == end[0] and (not column or self._offset(line, column) <= end[1]))):
                found = each
        return found

    def _offset(self, line: int, column: int) -> int:
        """The number of bytes up to and including a column, as the nodes of `ast` count them."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text[:column].encode())

    @cached_property
    def generators(self) -> frozenset[int]:
        """The functions that can be suspended and resumed."""
        return frozenset(each.number for each in self.all if isinstance(each.node, _FUNCTIONS) and _yields(each.node))

    @cached_property
    def recursive(self) -> frozenset[int]:
        """The functions that call themselves, by name."""
        found = (each for each in self.all if isinstance(each.node, _FUNCTIONS))
        return frozenset(each.number for each in found if _calls_itself(each.node))

    @cached_property
    def quiet(self) -> frozenset[int]:
        """The statements that call no function, as far as their text shows."""
        return frozenset(each.number for each in self.all if isinstance(each.node, _SIMPLE) and not _calls(each.node))

    def function(self, number: int) -> str:
        """The name of a function, as in tracebacks."""
        node = self.all[number].node if number >= 0 else None
        return node.name if isinstance(node, _FUNCTIONS) else "<module>"

    def header(self, each: Statement) -> str:
        """The first line of a statement, without a comment."""
        line = self.lines[each.line - 1].strip() if each.line <= len(self.lines) else ""
        with suppress(tokenize.TokenError, SyntaxError):  # the statement continues on the next line
            for token in tokenize.generate_tokens(StringIO(line).readline):
                if token.type == tokenize.COMMENT:
                    line = line[: token.start[1]].rstrip()
        return line if len(line) <= LONGEST_HEADER else f"{line[:LONGEST_HEADER].rstrip()} …"


def _calls(node: ast.AST) -> bool:
    return any(isinstance(each, _CALLING) for each in ast.walk(node))


def _calls_itself(function: ast.AST) -> bool:
    name = getattr(function, "name", "")
    called = (each.func for each in ast.walk(function) if isinstance(each, ast.Call))
    return any(name in (getattr(each, "id", ""), getattr(each, "attr", "")) for each in called)


def _yields(function: ast.AST) -> bool:
    for child in ast.iter_child_nodes(function):
        if isinstance(child, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if not isinstance(child, _INSIDE) and _yields(child):
            return True
    return False


def of_file(source: str, count: int) -> Statements | None:
    """The statements of a text of which `count` were marked; None if the file has changed since."""
    try:
        found = _read(source, Path(source).stat().st_mtime_ns)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return found if len(found.all) == count else None


@cache
def _read(source: str, changed: int) -> Statements:
    return Statements(Path(source).read_bytes())
