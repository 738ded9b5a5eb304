"""The code of the user's own files, with a mark before each statement that records its execution.

Nothing else of the code changes: its lines, docstrings, names and source stay the same. A mark is

```python
try:
    __trl_lint_ran__(b"...")  # writes the statement's number to a ring (`executing.py`)
except NameError:  # this code runs in a process without the function: for example if it was sent there
    pass
except ValueError:  # the ring is full
    __trl_lint_full__(b"...")
```
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from types import CodeType

from . import executing, trace

_MARK = f"""
try:
    {executing.WRITE}(b"")
except NameError:
    pass
except ValueError:
    {executing.FULL}(b"")
"""
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Block = list[ast.stmt]
_originals: dict[CodeType, CodeType] = {}


def marked_statements(tree: ast.Module) -> Iterator[tuple[ast.AST, str, Block, int]]:
    """All statements that get a mark, always in the same order: the node of their block, its field, and position."""
    for owner in ast.walk(tree):
        for name, block in ast.iter_fields(owner):
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield from ((owner, name, block, index) for index in range(len(block)) if _is_run(owner, block, index))


def _is_run(owner: ast.AST, block: Block, index: int) -> bool:
    """Whether a statement is executed: not a docstring, a declaration, or an import that must be first in its file."""
    each = block[index]
    if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
        return not (index == 0 and isinstance(owner, _WITH_DOCSTRING) and isinstance(each.value.value, str))
    is_of_future = isinstance(each, ast.ImportFrom) and each.module == "__future__"
    return not is_of_future and not isinstance(each, (ast.Global, ast.Nonlocal))


def compiled(text: bytes, path: str, source: str) -> CodeType:
    """The code of a file that records which of its statements are executed, if this process records.

    source: the file that the text is from, for the readers of the record.

    Raises:
        SyntaxError: it is not valid Python.
    """
    code = compile(text, path, "exec", dont_inherit=True)
    if not executing.is_kept():
        return code
    try:
        tree = ast.parse(text, path)
        found = list(marked_statements(tree))
        first = executing.numbers(len(found))
        if first is None:
            return code
        _mark(found, first)
        marked = compile(tree, path, "exec", dont_inherit=True)
    except (SyntaxError, RecursionError, MemoryError):  # nested so deeply that there is no room for marks
        return code
    trace.write("marked", file=os.path.realpath(path), source=source, first=first, count=len(found))
    _keep(marked, code)
    return marked


def original(code: CodeType) -> CodeType:
    """The code without marks."""
    return _originals.get(code, code)


def _keep(marked: CodeType, code: CodeType) -> None:
    """Remember the original of marked code; the nested code objects of both are in the same order."""
    _originals[marked] = code
    parts = ([each for each in one.co_consts if isinstance(each, CodeType)] for one in (marked, code))
    for inner, other in zip(*parts, strict=False):
        _keep(inner, other)


def _mark(found: list[tuple[ast.AST, str, Block, int]], first: int) -> None:
    """Put a mark before each statement; the last ones first, so that indices stay valid."""
    for number, (_, _, block, index) in reversed(list(enumerate(found, first))):
        block.insert(index, _mark_of(executing.entry(number), block[index]))


def _mark_of(entry: bytes, before: ast.stmt) -> ast.stmt:
    """The mark of a statement, with the line in which the statement begins."""
    (mark,) = ast.parse(_MARK).body
    line = min([before.lineno, *(each.lineno for each in getattr(before, "decorator_list", ()))])
    for node in ast.walk(mark):
        if isinstance(node, ast.Constant):
            node.value = entry
        if isinstance(node, (ast.stmt, ast.expr, ast.excepthandler)):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = before.col_offset
    return mark
