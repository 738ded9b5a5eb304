"""The conditions under which statements run, before and after a fix: statements that stay must keep theirs.

A fix removes a rank test (`if step % 10 == 0 and rank == 0:` → `if step % 10 == 0:`) or adds one. The rest of a
condition stays around every statement that stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# How people write a rank test, which a fix may remove or add.
_ASKS_FOR_RANK = re.compile(
    r"rank|main_process|master|process_index|world_process_zero|is_main|is_primary|should_(save|log)", re.I
)
_Guards = frozenset[str]


def conditions_lost(before: str, after: str) -> str:
    """A report on the statements that have lost a condition; "" if there are none.

    Statements are identified by their text; if several have the same text, the guards of all of them count.
    """
    old, new = _guards_of_statements(before), _guards_of_statements(after)
    lost = [
        f"`{_short(text)}` without `{' and '.join(sorted(gone))}`"
        for text in old.keys() & new.keys()
        for gone in _gone(old[text], new[text])
    ]
    return f"conditions are gone: {'; '.join(sorted(lost))}" if lost else ""


def _gone(old: list[_Guards], new: list[_Guards]) -> Iterator[_Guards]:
    """The guards that an old place of a statement had and no new place has, unless another guard replaces them."""
    for guards in old:
        if not any(len(guards - each) <= len(each - guards) for each in new):
            yield min((guards - each for each in new), key=len)


def _guards_of_statements(source: str) -> dict[str, list[_Guards]]:
    """By the text of each simple statement, the conditions around each of its places, without rank tests."""
    found: dict[str, list[_Guards]] = {}
    for text, guards in _walk(ast.parse(source).body, frozenset()):
        found.setdefault(text, []).append(guards)
    return found


def _walk(body: list[ast.stmt], guards: _Guards) -> Iterator[tuple[str, _Guards]]:
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _walk(statement.body, guards | _atoms(statement.test, holds=True))
            yield from _walk(statement.orelse, guards | _atoms(statement.test, holds=False))
        elif isinstance(statement, ast.While):
            yield from _walk(statement.body, guards | _atoms(statement.test, holds=True))
            yield from _walk(statement.orelse, guards)
        elif blocks := _blocks(statement):
            for block in blocks:
                yield from _walk(block, guards)
        else:
            yield ast.unparse(statement), guards


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [each.body for each in getattr(statement, "handlers", [])]
    blocks += [each.body for each in getattr(statement, "cases", [])]
    return [block for block in blocks if block]


def _atoms(test: ast.expr, *, holds: bool) -> _Guards:
    """What must hold if a condition is true (`holds`) or false, without rank tests."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _atoms(test.operand, holds=not holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if holds else ast.Or):
        return frozenset[str]().union(*(_atoms(each, holds=holds) for each in test.values))
    text = ast.unparse(test)
    return frozenset() if _ASKS_FOR_RANK.search(text) else frozenset({text if holds else f"not ({text})"})


def _short(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= 60 else f"{line[:59]}…"
