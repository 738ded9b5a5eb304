"""What identifies a finding when code moves: its rule, the function that it is in, and the text of its statement.

Lines, columns and the message are not part of it. Whitespace, line breaks and comments do not count; of a statement
with a body, only the head counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from trl_lint import quiet_ast
from trl_lint.findings import Finding, Position
from trl_lint.linter.comments.suppressions import Comments
from trl_lint.linter.suppression.unused_noqa import python_comments

_LENGTH = 16
# Statements whose text says nothing: the enclosing statement identifies them.
_BARE = (ast.Break, ast.Continue, ast.Pass)


@dataclass(frozen=True, slots=True, order=True)
class Fingerprint:
    """Identifies a finding in its file. scope: the dotted name of its function, "" at the top of a module."""

    code: str
    scope: str
    statement: str


def fingerprints(found: Sequence[Finding], path: Path, source: bytes) -> list[Fingerprint]:
    """The fingerprints of these findings, which are at places in `source`; findings may share one.

    For a finding about a comment, or in a file that is not Python, it is the line as written.
    """
    if not found:
        return []
    comments = Comments(source, path)
    if comments.cells is not None:
        source, found = comments.cells.source, [comments.inside(each) for each in found]
    lines = list(comments.lines)
    written = list(lines)
    tree = quiet_ast.parsed(source) if comments.is_python else None
    if tree is not None:
        for number, column, text in python_comments(source):
            line = lines[number - 1]
            lines[number - 1] = line[:column] + line[column + len(text) :]
    return [_fingerprint(each, tree, lines, written) for each in found]


def _fingerprint(
    finding: Finding, tree: ast.Module | None, lines: Sequence[str], written: Sequence[str]
) -> Fingerprint:
    around = list(_around(tree, finding.start, lines)) if tree is not None else []
    names = [each.name for each in around if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    if not around or not _is_in_head(around[-1], finding.start):  # no code, or a comment
        text = "".join(written[finding.start.line - 1 : finding.end.line])
        return Fingerprint(finding.code, ".".join(names), _digest(text))
    statement = around[-1]
    says_nothing = isinstance(statement, _BARE) or (isinstance(statement, ast.Return) and statement.value is None)
    innermost = around[-2:] if says_nothing else around[-1:]
    return Fingerprint(finding.code, ".".join(names), _digest("".join(_head(each, lines) for each in innermost)))


def _around(tree: ast.Module, place: Position, lines: Sequence[str]) -> Iterator[ast.stmt]:
    """The statements around a place, from the outermost to the innermost."""
    column = len(lines[place.line - 1][: place.column - 1].encode()) if place.line <= len(lines) else 0
    inside: Sequence[ast.stmt] = tree.body
    while True:
        found = next((each for each in inside if _start(each) <= (place.line, column) < _end(each)), None)
        if found is None:
            return
        yield found
        inside = list(_below(found))


def _below(statement: ast.AST) -> Iterator[ast.stmt]:
    """The statements directly inside another one."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


def _start(statement: ast.stmt) -> tuple[int, int]:
    first: ast.stmt | ast.expr = statement
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and statement.decorator_list:
        first = statement.decorator_list[0]
    return first.lineno, first.col_offset


def _end(statement: ast.stmt) -> tuple[int, int]:
    return statement.end_lineno or statement.lineno, statement.end_col_offset or 0


def _is_in_head(statement: ast.stmt, place: Position) -> bool:
    """Whether a place in a statement is before its body."""
    inside = next(_below(statement), None)
    return inside is None or place.line <= max(_start(inside)[0] - 1, statement.lineno)


def _head(statement: ast.stmt, lines: Sequence[str]) -> str:
    """The text of a statement up to its body."""
    inside = next(_below(statement), None)
    (first, start), (last, end) = _start(statement), _end(statement) if inside is None else _start(inside)
    text = "".join(lines[first - 1 : last]).encode()
    return text[start : len(text) - len(lines[last - 1].encode()) + end].decode(errors="replace")


def _digest(text: str) -> str:
    """The digest of a text, independent of line breaks."""
    plain = "".join(text.split())
    for bracket in ")]}":
        plain = plain.replace(f",{bracket}", bracket)
    return sha256(plain.encode(errors="replace")).hexdigest()[:_LENGTH]
