"""Files of which comments and blank lines alone have changed: their findings stay, and move with their lines.

    x = gather(loss)                    # a comment above, or behind
    self.log({"loss": x})               x = gather(loss)  # noqa: TRL003

    {1: 2, 2: 3} would be the lines of the left text in one like the right.

The tokens are compared, so nothing is guessed. A comment inside of brackets counts as code, as it may be shown in a
message. One that holds something like code has to stay, wherever that is: a few questions are asked of the text of a
file (whether an attribute is ever assigned to), and find it there.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from trl_lint.findings import Finding, Fix, Guard, Note, Position, Related
from trl_lint.linter.serialization import CheckOutcome

# The lines of a text by those of the text before.
Lines = Mapping[int, int]
# An assignment or a call, as far as somebody looks for one in a text.
_LIKE_CODE = re.compile(r"=|\w\(|isort:")
# Tokens that are on no line of their own.
_NOT_SHOWN = frozenset({tokenize.ENCODING, tokenize.NEWLINE, tokenize.DEDENT, tokenize.ENDMARKER})


class _Token(NamedTuple):
    """A token of code. line: counted from the first of its statement. column: 0 where it is that of no text."""

    kind: int
    text: str
    line: int
    column: int


class _Statement(NamedTuple):
    """What lies between two ends of statements, and its first and last line."""

    tokens: tuple[_Token, ...]
    first: int
    last: int


def lines_moved(before: bytes, now: bytes) -> Lines | None:
    """Where the lines of code of a text are now; None where more than comments and blank lines has changed."""
    try:
        (old, remarks), (new, remarks_now) = _read(before), _read(now)
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):  # IndentationError is a SyntaxError
        return None
    if remarks != remarks_now or [each.tokens for each in old] != [each.tokens for each in new]:
        return None
    moved: dict[int, int] = {}
    for one, other in zip(old, new, strict=True):
        moved.update(zip(range(one.first, one.last + 1), range(other.first, other.last + 1), strict=True))
    return moved


def _read(source: bytes) -> tuple[list[_Statement], list[str]]:
    """The statements of a text, each without the comments around and behind it; and of these, those like code."""
    statements: list[_Statement] = []
    remarks: list[str] = []
    found: list[tokenize.TokenInfo] = []
    depth = 0
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if depth > 0 or token.type not in (tokenize.COMMENT, tokenize.NL):
            found.append(token)
        elif _LIKE_CODE.search(token.string):
            remarks.append(token.string)
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            statements.append(_statement(found))
            found = []
    return statements, remarks


def _statement(tokens: list[tokenize.TokenInfo]) -> _Statement:
    shown = [each for each in tokens if each.type not in _NOT_SHOWN]
    first, last = (shown[0].start[0], shown[-1].end[0]) if shown else (1, 0)
    return _Statement(tuple(_token(each, first) for each in tokens), first, last)


def _token(token: tokenize.TokenInfo, first: int) -> _Token:
    """A token as it is compared; where a line ends, and where the text does, is no matter."""
    if token.type in _NOT_SHOWN:
        return _Token(token.type, token.string if token.type == tokenize.ENCODING else "", 0, 0)
    return _Token(token.type, token.string, token.start[0] - first, token.start[1])


def moved(outcome: CheckOutcome, lines_of: Callable[[str], Lines | None]) -> CheckOutcome:
    """An outcome with all its places moved. lines_of: where the lines of a file are now, None where nothing changed.

    Raises:
        KeyError: a place is on a line that is no code.
    """

    def at(path: str, place: Position) -> Position:
        lines = lines_of(path)
        return place if lines is None else replace(place, line=lines[place.line])

    def note(each: Note) -> Note:
        return replace(each, start=at(each.path, each.start))

    def related(each: Related) -> Related:
        return replace(each, start=at(each.path, each.start))

    def guard(each: Guard) -> Guard:
        return replace(each, start=at(each.path, each.start), end=at(each.path, each.end))

    def fix(each: Fix) -> Fix:
        return replace(each, conditions=tuple(map(note, each.conditions)))

    def finding(each: Finding) -> Finding:
        return replace(
            each,
            start=at(each.path, each.start),
            end=at(each.path, each.end),
            because=tuple(map(note, each.because)),
            fix=fix(each.fix) if each.fix else None,
            also=tuple(map(related, each.also)),
            branches=tuple(at(each.path, place) for place in each.branches),
            guard=guard(each.guard) if each.guard else None,
        )

    found, unasked = (tuple(map(finding, each)) for each in (outcome.findings, outcome.unasked))
    return CheckOutcome(found, unasked, outcome.error)
