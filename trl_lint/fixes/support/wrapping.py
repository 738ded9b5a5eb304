"""Break a changed line that has become longer than the project's lines are, the way black and ruff would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from trl_lint.fixes.support.tree import has_comment, text_of

_Line: TypeAlias = cst.SimpleStatementLine
# How wide ruff takes a tab to be.
_TAB = 4
# Statements that end in the value that makes them long.
_WithValue: TypeAlias = cst.Assign | cst.AugAssign | cst.Expr | cst.Return
# What lists its elements.
_Display: TypeAlias = cst.Dict | cst.List | cst.Set | cst.Tuple


def wrapped(line: _Line, limit: int, indent: str, unit: str) -> _Line:
    """The line in several, if it is too long and fits that way; else the line.

    limit: the longest that the project's lines are. indent: what stands before it. unit: one level of indentation.
    """
    if "\n" in _text(line) or fits(line, limit, indent):
        return line
    return next((new for new in _ways(line, unit) if fits(new, limit, indent)), line)


def fits(line: _Line, limit: int, indent: str) -> bool:
    """Whether a line is no longer than the project's lines are; the comment behind it does not count."""
    return max(len(f"{indent}{each}".expandtabs(_TAB)) for each in _text(line).splitlines()) <= limit


def _text(line: _Line) -> str:
    return text_of(line.with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace())).rstrip("\n")


def _ways(line: _Line, unit: str) -> Iterator[_Line]:
    """The line in several, in the order in which formatters try."""
    match line.body:
        case [cst.Assign() | cst.AugAssign() | cst.Expr() | cst.Return() as small]:
            value = small.value
        case _:
            return
    if isinstance(value, cst.Call) and value.args and not value.lpar and not _has_call(value.func):
        for call in (_in_one_line(value, unit), _below_each_other(value, unit)):
            yield line.with_changes(body=[small.with_changes(value=call)])
    elif isinstance(value, (cst.Dict, cst.List, cst.Set, cst.Tuple)) and value.elements and not has_comment(value):
        # Parentheses that a tuple has stand where the new ones would.
        if not isinstance(small, cst.Expr) and (not value.lpar or isinstance(value, cst.Tuple)):
            yield line.with_changes(body=[_with_value(small, _elements_below_each_other(value, unit))])
    elif value is not None and not value.lpar and not isinstance(small, cst.Expr):
        yield line.with_changes(body=[_in_parentheses(small, value, unit)])


def _has_call(node: cst.BaseExpression) -> bool:
    """Whether a chain of attributes calls something on its way."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return isinstance(node, cst.Call)


def _in_one_line(call: cst.Call, unit: str) -> cst.Call:
    """`f(`, all arguments in a line of their own, `)`."""
    *first, last = call.args
    end = last.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=_new_line(""))
    return call.with_changes(args=[*first, end], whitespace_before_args=_new_line(unit))


def _below_each_other(call: cst.Call, unit: str) -> cst.Call:
    """`f(`, each argument in a line of its own, `)`."""
    *first, last = call.args
    end = cst.Comma(whitespace_after=_new_line(""))
    args = [each.with_changes(comma=cst.Comma(whitespace_after=_new_line(unit))) for each in first]
    args.append(last.with_changes(comma=end, whitespace_after_arg=cst.SimpleWhitespace("")))
    return call.with_changes(args=args, whitespace_before_args=_new_line(unit))


def _elements_below_each_other(value: _Display, unit: str) -> _Display:
    """The bracket, each element in a line of its own, the other bracket."""
    *first, last = value.elements
    start, end = _new_line(unit), cst.Comma(whitespace_after=_new_line(""))
    elements = [each.with_changes(comma=cst.Comma(whitespace_after=start)) for each in first]
    elements.append(last.with_changes(comma=end))
    match value:
        case cst.List():
            return value.with_changes(elements=elements, lbracket=cst.LeftSquareBracket(whitespace_after=start))
        case cst.Tuple():
            return value.with_changes(
                elements=elements, lpar=[cst.LeftParen(whitespace_after=start)], rpar=[cst.RightParen()]
            )
    return value.with_changes(elements=elements, lbrace=cst.LeftCurlyBrace(whitespace_after=start))


def _in_parentheses(small: _WithValue, value: cst.BaseExpression, unit: str) -> _WithValue:
    """`x = (`, what is assigned in a line of its own, `)`."""
    inside = value.with_changes(
        lpar=[cst.LeftParen(whitespace_after=_new_line(unit))],
        rpar=[cst.RightParen(whitespace_before=_new_line(""))],
    )
    return _with_value(small, inside)


def _with_value(small: _WithValue, value: cst.BaseExpression) -> _WithValue:
    if isinstance(small, cst.Return):
        return small.with_changes(value=value, whitespace_after_return=cst.SimpleWhitespace(" "))
    return small.with_changes(value=value)


def _new_line(before: str) -> cst.ParenthesizedWhitespace:
    """The end of a line, and what the next one begins with."""
    return cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace(before))
