"""Break a changed line that has become longer than the project's lines, as black and ruff would."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

import libcst as cst

from trl_lint.fixes.support.breaking import (
    TAB,
    arguments_on_own_line,
    new_line,
    on_several_lines,
    one_argument_per_line,
    one_element_per_line,
)
from trl_lint.fixes.support.tree import has_comment, text_of

_Line: TypeAlias = cst.SimpleStatementLine
# Statements that end in the value that makes them long.
_WithValue: TypeAlias = cst.Assign | cst.AugAssign | cst.Expr | cst.Return


def wrapped(line: _Line, limit: int, indent: str, unit: str, known: Collection[str] = ()) -> _Line:
    """The line broken into several, if it is too long and fits that way; otherwise the line itself.

    Args:
        line: The statement.
        limit: The line length of the project.
        indent: The text before the statement.
        unit: One level of indentation.
        known: Lines of a multi-line statement that may stay as they are.
    """
    if fits(line, limit, indent):
        return line
    forms = () if "\n" in _text(line) else _broken_forms(line, unit)
    found = next((new for new in forms if fits(new, limit, indent)), None)
    return found or on_several_lines(line, limit, indent, unit, known) or line


def lines_of(line: _Line) -> list[str]:
    """The lines of a statement, as in a block without indentation."""
    return _text(line).split("\n")


def fits(line: _Line, limit: int, indent: str) -> bool:
    """Whether a line is short enough for the project; a comment after it does not count."""
    return max(len(f"{indent}{each}".expandtabs(TAB)) for each in _text(line).splitlines()) <= limit


def _text(line: _Line) -> str:
    return text_of(line.with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace())).rstrip("\n")


def _broken_forms(line: _Line, unit: str) -> Iterator[_Line]:
    """The broken line in the forms that formatters try, in order."""
    match line.body:
        case [cst.Assign() | cst.AugAssign() | cst.Expr() | cst.Return() as small]:
            value = small.value
        case _:
            return
    if isinstance(value, cst.Call) and value.args and not value.lpar and not _has_call(value.func):
        for call in (arguments_on_own_line(value, "", unit), one_argument_per_line(value, "", unit)):
            yield line.with_changes(body=[small.with_changes(value=call)])
    elif isinstance(value, (cst.Dict, cst.List, cst.Set, cst.Tuple)) and value.elements and not has_comment(value):
        # The parentheses of a tuple are where the new ones would be.
        if not isinstance(small, cst.Expr) and (not value.lpar or isinstance(value, cst.Tuple)):
            yield line.with_changes(body=[_with_value(small, one_element_per_line(value, "", unit))])
    elif value is not None and not value.lpar and not isinstance(small, cst.Expr):
        yield line.with_changes(body=[_in_parentheses(small, value, unit)])


def _has_call(node: cst.BaseExpression) -> bool:
    """Whether a chain of attributes contains a call."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return isinstance(node, cst.Call)


def _in_parentheses(small: _WithValue, value: cst.BaseExpression, unit: str) -> _WithValue:
    """`x = (`, the value on a line by itself, `)`."""
    inside = value.with_changes(
        lpar=[cst.LeftParen(whitespace_after=new_line(unit))],
        rpar=[cst.RightParen(whitespace_before=new_line(""))],
    )
    return _with_value(small, inside)


def _with_value(small: _WithValue, value: cst.BaseExpression) -> _WithValue:
    if isinstance(small, cst.Return):
        return small.with_changes(value=value, whitespace_after_return=cst.SimpleWhitespace(" "))
    return small.with_changes(value=value)
