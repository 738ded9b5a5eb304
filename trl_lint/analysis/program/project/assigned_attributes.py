"""Which attributes of `self` the code of a method assigns: a walk over statements only.

`self.x += 1` does not count: if nothing else assigns it, the first value comes from a base or caller outside the
project.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import declares, names_in


def assigned_in(body: cst.BaseSuite) -> set[str]:
    """The names of all attributes that a body assigns."""
    found: set[str] = set()
    _collect(body, found)
    return found


def assigned_in_statement(statement: cst.BaseStatement | cst.BaseSmallStatement) -> set[str]:
    """The names of all attributes that a statement assigns, with those of the blocks in it."""
    found: set[str] = set()
    if isinstance(statement, cst.SimpleStatementLine):
        _collect_line(statement, found)
    else:
        for block in _blocks(statement):
            _collect(block, found)
    return found


def always_assigned(init: cst.BaseSuite) -> frozenset[str]:
    """The names that an `__init__` assigns unconditionally, after it has called those of the bases."""
    found: set[str] = set()
    for statement in init.body:
        if "__init__" in names_in(statement):
            found.clear()
        if isinstance(statement, cst.SimpleStatementLine):
            _collect_line(statement, found)
    return frozenset(found)


def is_assigned_after_base(init: cst.BaseSuite, name: str) -> bool:
    """Whether an `__init__` calls those of the bases, and assigns `self.name` only after that."""
    is_behind = False
    before: set[str] = set()
    for statement in reversed(init.body):
        is_behind = is_behind or "__init__" in names_in(statement)
        if is_behind and isinstance(statement, cst.SimpleStatementLine):
            _collect_line(statement, before)
        elif is_behind:
            for block in _blocks(statement):
                _collect(block, before)
    return is_behind and name not in before


def _collect(body: cst.BaseSuite, found: set[str]) -> None:
    for statement in body.body:
        if isinstance(statement, cst.SimpleStatementLine):
            _collect_line(statement, found)
            continue
        if isinstance(statement, cst.For):
            _collect_target(statement.target, found)
        for child in _blocks(statement):
            _collect(child, found)


def _collect_line(line: cst.SimpleStatementLine, found: set[str]) -> None:
    for small in line.body:
        for target in _targets(small):
            _collect_target(target, found)


def _targets(small: cst.BaseSmallStatement) -> list[cst.BaseAssignTargetExpression]:
    if isinstance(small, cst.Assign):
        return [target.target for target in small.targets]
    if isinstance(small, cst.AnnAssign) and small.value is not None and not declares(small):
        return [small.target]
    return []


def _collect_target(target: cst.CSTNode, found: set[str]) -> None:
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            _collect_target(element.value, found)
    elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and target.value.value == "self":
        found.add(target.attr.value)


def _blocks(statement: cst.CSTNode) -> Iterator[cst.BaseSuite]:
    """The suites directly below a compound statement."""
    body = getattr(statement, "body", None)
    if isinstance(body, cst.BaseSuite) and not isinstance(statement, cst.FunctionDef):
        yield body
    for name in ("orelse", "finalbody"):
        child = getattr(statement, name, None)
        if isinstance(child, cst.If):
            yield from _blocks(child)
        elif child is not None:
            yield child.body
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body
