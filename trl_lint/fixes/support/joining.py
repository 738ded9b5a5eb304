"""Join the lines of a statement.

sums = torch.stack([(            ->       sums = torch.stack([(a * b).sum(), n])
    a * b
).sum(), n])
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from trl_lint.fixes.support.tree import text_of

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
# Tokens that are only about lines.
_LAYOUT = frozenset({tokenize.DEDENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.NEWLINE, tokenize.NL})


def joined(line: cst.SimpleStatementLine) -> cst.SimpleStatementLine | None:
    """The statement on one line; None if it contains a comment or a text of several lines."""
    text = code_of(line)
    if "\n" not in text:
        return line
    new = _joined_text(text)
    if new is None or ast.dump(ast.parse(_in_function(text))) != ast.dump(ast.parse(_in_function(new))):
        return None
    found = _without_needless_parentheses(cst.ensure_type(cst.parse_statement(new), cst.SimpleStatementLine))
    return found.with_changes(leading_lines=line.leading_lines, trailing_whitespace=line.trailing_whitespace)


def is_opened(line: cst.SimpleStatementLine) -> bool:
    """Whether brackets are opened as formatters do it: the first line ends in one, the last begins with one."""
    first, *rest = (each.strip() for each in code_of(line).split("\n"))
    return bool(rest) and first[-1:] in _OPENING and rest[-1][:1] in _CLOSING


def ends_in_comma(line: cst.SimpleStatementLine) -> bool:
    """Whether a line before a closing bracket ends in a comma: the author wants the elements on separate lines."""
    lines = [each.strip() for each in code_of(line).split("\n")]
    return any(one.endswith(",") and other[:1] in _CLOSING for one, other in pairwise(lines))


def code_of(line: cst.SimpleStatementLine) -> str:
    """The text of a statement without what is above it and the comment after it."""
    return text_of(line.with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace())).rstrip("\n")


def _in_function(text: str) -> str:
    """The text where it may also be a `return`."""
    return f"async def f():\n  {text}\n"


def _joined_text(text: str) -> str | None:
    pieces: list[str] = []
    before: tokenize.TokenInfo | None = None
    for token in _tokens(text):
        if token.type == tokenize.COMMENT or token.end[0] > token.start[0]:
            return None
        if before is not None and before.end[0] == token.start[0]:
            pieces.append(token.line[before.end[1] : token.start[1]])
        elif before is not None:
            if token.string in _CLOSING and before.string == ",":
                pieces.pop()
            is_close = before.string in _OPENING or token.string in _CLOSING or token.string == "."
            pieces.append("" if is_close else " ")
        pieces.append(token.string)
        before = token
    return "".join(pieces)


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return (token for token in tokens if token.type not in _LAYOUT)


def _without_needless_parentheses(line: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
    """The statement without the parentheses around its value, which only held its lines together."""
    match line.body:
        case [(cst.Assign() | cst.AugAssign() | cst.Return()) as small, *_]:
            value = small.value
        case _:
            return line
    if value is None or not value.lpar or isinstance(value, (cst.Tuple, cst.GeneratorExp, cst.Yield, cst.NamedExpr)):
        return line
    return line.with_deep_changes(small, value=value.with_changes(lpar=[], rpar=[]))
