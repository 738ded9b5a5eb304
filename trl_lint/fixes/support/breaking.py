"""Break the lines of a statement at brackets, where `wrapping` has no rule for them.

    metrics = {                                         metrics = {
        "loss": accelerator.gather(loss).mean(),   ->       "loss": accelerator.gather(
    }                                                           loss
                                                            ).mean(),
                                                        }

The brackets that contain most of a line are opened first, until every line fits.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Collection, Iterator
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import libcst as cst
from libcst._nodes.internal import CodegenState

_Line: TypeAlias = cst.SimpleStatementLine
# Literals that list their elements.
Display: TypeAlias = cst.Dict | cst.List | cst.Set | cst.Tuple
_Bracket: TypeAlias = cst.Call | Display
# The tab width of ruff.
TAB = 4
# With more brackets than this, the result is not readable.
_MOST = 8


class _Content(NamedTuple):
    """The contents of brackets, and their position in a text."""

    bracket: _Bracket
    start: int
    end: int


class _Spans(CodegenState):
    """Records the tokens that the arguments and elements in brackets are written as."""

    def __init__(self) -> None:
        super().__init__("    ", "\n")
        self.marks: dict[int, tuple[int, int]] = {}

    def before_codegen(self, node: cst.CSTNode) -> None:
        if isinstance(node, (cst.Arg, cst.BaseElement, cst.BaseDictElement)):
            self.marks[id(node)] = (len(self.tokens), 0)

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.marks:
            self.marks[id(node)] = (self.marks[id(node)][0], len(self.tokens))


def on_several_lines(line: _Line, limit: int, indent: str, unit: str, known: Collection[str] = ()) -> _Line | None:
    """The statement with brackets opened until its lines fit; None if that is impossible.

    Args:
        line: The statement.
        limit: The line length of the project.
        indent: The text before the statement.
        unit: One level of indentation.
        known: Lines that may stay as they are.
    """
    bare = line.with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace())
    now = bare
    for _ in range(_MOST):
        text, contents = _rendered(now)
        span = _first_too_long(text, limit, indent, known)
        if span is None:
            new = now.with_changes(leading_lines=line.leading_lines, trailing_whitespace=line.trailing_whitespace)
            return new if _means_the_same(bare, now) else None
        inside = [each for each in contents if span[0] <= each.start and each.end <= span[1]]
        if not inside:
            return None
        widest = max(inside, key=lambda each: each.end - each.start)
        margin = text[span[0] : span[1]]
        margin = margin[: len(margin) - len(margin.lstrip())]
        in_one = len(f"{indent}{margin}{unit}{text[widest.start : widest.end]}".expandtabs(TAB)) <= limit
        opened = _on_several_lines(widest.bracket, margin, unit, in_one=in_one)
        now = cst.ensure_type(now.deep_replace(widest.bracket, opened), cst.SimpleStatementLine)
    return None


def _rendered(line: _Line) -> tuple[str, list[_Content]]:
    state = _Spans()
    line._codegen(state)
    ends = list(accumulate(map(len, state.tokens), initial=0))
    found = []
    for bracket, first, last in _brackets(line):
        if id(first) in state.marks and id(last) in state.marks:
            found.append(_Content(bracket, ends[state.marks[id(first)][0]], ends[state.marks[id(last)][1]]))
    return "".join(state.tokens), found


def _brackets(node: cst.CSTNode) -> Iterator[tuple[_Bracket, cst.CSTNode, cst.CSTNode]]:
    """The non-empty brackets below a node, each with its first and last element; none in f-strings."""
    match node:
        case cst.FormattedString():
            return
        case cst.Call(args=[first, *rest]):
            yield node, first, rest[-1] if rest else first
        case cst.Tuple(lpar=[]):
            pass
        case cst.Dict(elements=[first, *rest]) | cst.List(elements=[first, *rest]):
            yield node, first, rest[-1] if rest else first
        case cst.Set(elements=[first, *rest]) | cst.Tuple(elements=[first, *rest]):
            yield node, first, rest[-1] if rest else first
    for child in node.children:
        yield from _brackets(child)


def _first_too_long(text: str, limit: int, indent: str, known: Collection[str]) -> tuple[int, int] | None:
    """The start and end of the first line that is too long."""
    start = 0
    for each in text.split("\n"):
        if each not in known and len(f"{indent}{each}".expandtabs(TAB)) > limit:
            return start, start + len(each)
        start += len(each) + 1
    return None


def _means_the_same(before: _Line, after: _Line) -> bool:
    texts = [cst.Module([each]).code for each in (before, after)]
    return len({(*_comments(text), ast.dump(ast.parse(text))) for text in texts}) == 1


def _comments(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def _on_several_lines(bracket: _Bracket, margin: str, unit: str, *, in_one: bool) -> cst.BaseExpression:
    """Brackets with their contents on separate lines. margin: the indentation of the line with the bracket."""
    if isinstance(bracket, cst.Call):
        return arguments_on_own_line(bracket, margin, unit) if in_one else one_argument_per_line(bracket, margin, unit)
    return one_element_per_line(bracket, margin, unit)


def arguments_on_own_line(call: cst.Call, margin: str, unit: str) -> cst.Call:
    """`f(`, all arguments on one line, `)`."""
    *first, last = call.args
    end = last.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=new_line(margin))
    return call.with_changes(args=[*first, end], whitespace_before_args=new_line(margin + unit))


def one_argument_per_line(call: cst.Call, margin: str, unit: str) -> cst.Call:
    """`f(`, each argument on a line, `)`."""
    *first, last = call.args
    if not first:
        return arguments_on_own_line(call, margin, unit)  # formatters put no comma after a single one
    end = cst.Comma(whitespace_after=new_line(margin))
    args = [each.with_changes(comma=cst.Comma(whitespace_after=new_line(margin + unit))) for each in first]
    args.append(last.with_changes(comma=end, whitespace_after_arg=cst.SimpleWhitespace("")))
    return call.with_changes(args=args, whitespace_before_args=new_line(margin + unit))


def one_element_per_line(value: Display, margin: str, unit: str) -> Display:
    """The opening bracket, each element on a line, the closing bracket."""
    *first, last = value.elements
    start, end = new_line(margin + unit), cst.Comma(whitespace_after=new_line(margin))
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


def new_line(before: str) -> cst.ParenthesizedWhitespace:
    """A line end, and the start of the next line."""
    return cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace(before))
