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
from trl_lint.fixes.support.joining import code_of, ends_in_comma, is_opened, joined
from trl_lint.fixes.support.tree import has_comment

_Line: TypeAlias = cst.SimpleStatementLine
# Statements that end in the value that makes them long.
_WithValue: TypeAlias = cst.Assign | cst.AugAssign | cst.Expr | cst.Return
# What is broken anyway is broken into lines of at most this length, if possible, where the project has longer ones.
READABLE = 120
# A shorter line was not broken because of its length.
_SHORT = 88


def wrapped(line: _Line, limit: int, indent: str, unit: str, known: Collection[str] = ()) -> _Line:
    """The line broken into several, if it is too long and fits that way; otherwise the line itself.

    Args:
        line: The statement.
        limit: The line length of the project.
        indent: The text before the statement.
        unit: One level of indentation.
        known: Lines of a multi-line statement that may stay as they are.
    """
    if fits(line, limit, indent, known):
        return line
    # Elements on separate lines stay there.
    on_one = line if ends_in_comma(line) or (is_opened(line) and len(lines_of(line)) > 3) else joined(line)
    forms = [] if on_one is None or "\n" in code_of(on_one) else list(_broken_forms(on_one, unit))
    for bound in (min(limit, READABLE), limit):
        found = next((new for new in forms if fits(new, bound, indent)), None)
        if found is not None:
            return found
    if on_one is not None and (chain := _in_chain(on_one, unit)) is not None:
        line, known = chain, ()
    return on_several_lines(line, limit, indent, unit, known) or line


def laid_out_anew(before: _Line, line: _Line, limit: int, indents: tuple[str, str], unit: str) -> _Line | None:
    """A changed statement in the layout of formatters, if it was in theirs before; otherwise None.

    indents: the text before the statement, before and after the change.
    """
    old, new = joined(before), joined(line)
    if old is None or new is None or ends_in_comma(before):
        return None
    if code_of(wrapped(old, limit, indents[0], unit)) != code_of(before):
        return None
    found = wrapped(new, limit, indents[1], unit)
    return found if fits(found, limit, indents[1]) else None


def in_one(before: _Line, line: _Line, limit: int, indent: str) -> _Line | None:
    """A changed statement on one line, if only its length had made it longer than one; otherwise None."""
    old, new = joined(before), joined(line)
    if old is None or new is None or not is_opened(before) or ends_in_comma(before):
        return None
    is_shorter = len(code_of(new)) < len(code_of(old))
    short = limit if not fits(old, limit, indent) else min(limit, _SHORT)
    return new if is_shorter and fits(new, short, indent) else None


def lines_of(line: _Line) -> list[str]:
    """The lines of a statement, as in a block without indentation."""
    return code_of(line).split("\n")


def fits(line: _Line, limit: int, indent: str, known: Collection[str] = ()) -> bool:
    """Whether a line is short enough for the project; a comment after it does not count."""
    new = (each for each in code_of(line).splitlines() if each not in known)
    return max((len(f"{indent}{each}".expandtabs(TAB)) for each in new), default=0) <= limit


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
        if (chain := _in_chain(line, unit)) is not None:
            yield chain


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


def _in_chain(line: _Line, unit: str) -> _Line | None:
    """`x = (`, `f(x)`, `.mean()` and `.cpu()` on separate lines; None with fewer steps behind the first call."""
    match line.body:
        case [cst.Assign() | cst.AugAssign() | cst.Return() as small] if small.value is not None:
            value = small.value
        case _:
            return None
    behind: list[cst.Attribute] = []
    node = value
    while isinstance(node, (cst.Attribute, cst.Call)):
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Call):
            behind.append(node)
        node = node.value if isinstance(node, cst.Attribute) else node.func
    if value.lpar or len(behind) < 2:
        return None
    dot = cst.Dot(whitespace_before=new_line(unit))
    for each in behind:  # the last step first: those before it are still in the tree
        value = value.with_deep_changes(each, dot=dot)
    return line.with_changes(body=[_in_parentheses(small, value, unit)])


def _with_value(small: _WithValue, value: cst.BaseExpression) -> _WithValue:
    if isinstance(small, cst.Return):
        return small.with_changes(value=value, whitespace_after_return=cst.SimpleWhitespace(" "))
    return small.with_changes(value=value)
