"""Lines that are watched: which of them this process has got to.

A statement in front of each one's own tells of it the first time. Line numbers and all other code stay as they are.
"""

from __future__ import annotations

import ast
import builtins
import os
from collections.abc import Collection
from types import CodeType

from . import trace
from .job import Job

_NAME = "__trl_lint_reached__"


def watch(job: Job) -> None:
    """Have what `compiled` puts into the code write to the trace of this rank, also from processes that it forks."""
    told: set[tuple[str, int]] = set()
    own = trace.current

    def reached(file: str, line: int) -> None:
        if (file, line) not in told and own is not None:
            told.add((file, line))
            own.write("reached", file=file, line=line)

    if job.watched:
        setattr(builtins, _NAME, reached)


def compiled(text: bytes, path: str, lines: Collection[int]) -> CodeType:
    """The code of a file that tells which of these lines are reached.

    Raises:
        SyntaxError: it is no Python.
    """
    if not lines:
        return compile(text, path, "exec", dont_inherit=True)
    tree = ast.parse(text, path)
    file = os.path.realpath(path)
    blocks = [(block, _marks(block, file, by)) for block, by in _by_block(tree, set(lines))]
    for block, marks in blocks:
        block[:] = marks
    return compile(tree, path, "exec", dont_inherit=True)


def _by_block(tree: ast.Module, lines: set[int]) -> list[tuple[list[ast.stmt], dict[int, list[int]]]]:
    """The blocks of the innermost statements that lines belong to, with the lines of each by its index."""
    innermost: dict[int, tuple[list[ast.stmt], int]] = {}
    for node in ast.walk(tree):  # from the outermost on
        for _, block in ast.iter_fields(node):
            for index, each in enumerate(block if isinstance(block, list) else ()):
                if isinstance(each, ast.stmt):
                    last = each.end_lineno or each.lineno
                    innermost.update({line: (block, index) for line in lines if each.lineno <= line <= last})
    found: dict[int, tuple[list[ast.stmt], dict[int, list[int]]]] = {}
    for line, (block, index) in sorted(innermost.items()):
        found.setdefault(id(block), (block, {}))[1].setdefault(index, []).append(line)
    return list(found.values())


def _marks(block: list[ast.stmt], file: str, by: dict[int, list[int]]) -> list[ast.stmt]:
    """A block with marks in front of its statements."""
    each = ([*(_told(file, line, old) for line in by.get(index, ())), old] for index, old in enumerate(block))
    return [new for group in each for new in group]


def _told(file: str, line: int, before: ast.stmt) -> ast.stmt:
    """The mark: where the code is run by a process that knows nothing of it, it does nothing."""
    (mark,) = ast.parse(f"try:\n {_NAME}({file!r}, {line})\nexcept NameError:\n pass").body
    for node in ast.walk(mark):
        if hasattr(node, "lineno"):
            ast.copy_location(node, before)
    return mark
