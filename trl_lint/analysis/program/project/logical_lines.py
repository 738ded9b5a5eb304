"""The logical lines of a text, found with a few searches per line instead of a tokenizer.

    total = sum(        # (0, 24, 1): starts at 0, ends after the line break, at most one bracket deep
        weights)

Rare cases that would need a tokenizer (a quote in an f-string field that could end the string) are given up.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from trl_lint.analysis.program.project.source_text import end_of_long

# Strings in single quotes: all but f-strings, and f-strings whose fields end unambiguously.
_NO_FIELDS = r"(?<![fFtT])(?<![fFtT][rR])"
_PLAIN = "|".join(rf"{_NO_FIELDS}{q}(?!{q}{q})[^{q}\\\n]*(?:\\.[^{q}\\\n]*)*{q}" for q in "\"'")
_WITH_FIELDS = "|".join(
    rf"{q}(?!{q}{q})(?:[^{q}\\\n{{}}]|\\.|\{{\{{|\}}\}}"
    rf"|\{{[^{{}}\"'\\\n]*(?:{other}[^{{}}\"'\\\n]*{other}[^{{}}\"'\\\n]*)*\}})*{q}"
    for q, other in ("\"'", "'\"")
)
# Text up to the next bracket that contains another bracket, and the token that comes then.
_OTHERS = r"[^\n()\[\]{}\"'#\\]*"
_IN_BRACKETS = r"[^()\[\]{}\"'#\\]*"
_PIECE = re.compile(
    rf"{_OTHERS}(?:(?:\({_IN_BRACKETS}\)|\[{_IN_BRACKETS}\]|\{{{_IN_BRACKETS}\}}|\\.|{_PLAIN}|{_WITH_FIELDS}){_OTHERS})*"
    r"(?:(\n)|([(\[{])|([)\]}])|(\#[^\n]*)|(\"{3}|'{3})|\Z)",
    re.DOTALL,
)
_END, _OPEN, _CLOSE, _COMMENT, _LONG = range(1, 6)
# A line break in a logical line, with the indentation of what follows.
_CONTINUED = re.compile(r"[ \t]*\\?\n\s*")
# Other characters that end lines or begin an indentation.
_UNUSUAL = re.compile(r"[\r\f\0]")


class LogicalLine(NamedTuple):
    """start: of its indentation; end: after its line break; depth: the greatest number of brackets around a place."""

    start: int
    end: int
    depth: int


def logical_lines(text: str) -> list[LogicalLine] | None:
    """The logical lines of a text that hold code; None if a search does not find them reliably."""
    if _UNUSUAL.search(text):
        return None
    found: list[LogicalLine] = []
    place = start = depth = deepest = 0
    while place < len(text):
        match = _PIECE.match(text, place)
        if match is None:
            return None
        kind, end = match.lastindex, match.end()
        if kind == _END:
            if not depth:
                if place != start or not text[start:end].isspace():
                    found.append(LogicalLine(start, end, deepest + 1))
                start, deepest = end, 0
        elif kind == _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif kind == _CLOSE:
            depth -= 1
        elif kind == _COMMENT:
            if not depth and not text[start : match.start(_COMMENT)].strip():
                start = end  # nothing else is on the line
        elif kind == _LONG:
            end = _end_of(text, end, match[_LONG])
            if end < 0:
                return None
        place = end
    if text[start:].strip():
        found.append(LogicalLine(start, len(text), deepest + 1))
    return None if depth else found


def rest_of_line(text: str, place: int, most: int, depth: int = 0) -> str:
    """The rest of the logical line from a place in its code, on one line and without the comments in its brackets.

    most: how many characters are read. depth: how many brackets are open at the place. Where a search does not find
    the end reliably, it is that of the line in the text.
    """
    parts: list[str] = []
    stop = min(place + most, len(text))
    while place < stop:
        match = _PIECE.match(text, place, stop)
        if match is None or match.lastindex == _LONG:
            end = text.find("\n", place, stop)
            parts.append(text[place : end if end >= 0 else stop])
            break
        kind, end = match.lastindex, match.end()
        depth += (kind == _OPEN) - (kind == _CLOSE)
        parts.append(text[place : match.start(_COMMENT) if kind == _COMMENT and depth > 0 else end])
        if kind == _END and depth <= 0:
            break
        place = end
    return on_one_line("".join(parts))


def on_one_line(line: str) -> str:
    """A logical line without the line breaks in it."""
    return _CONTINUED.sub(" ", line.rstrip("\n"))


def _end_of(text: str, place: int, quotes: str) -> int:
    """Where a long string ends whose text starts at `place`; -1 if that is unclear."""
    end = end_of_long(text, place, quotes)
    may_have_fields = text[max(place - 5, 0) : place - 3].rstrip("rR")[-1:] in _HAVE_FIELDS
    return -1 if may_have_fields and end >= 0 and not _FIELDS.fullmatch(text, place, end - 3) else end


_HAVE_FIELDS = frozenset("fFtT")
# The text of a long string whose fields end unambiguously.
_FIELDS = re.compile(r"[^{}]*(?:(?:\{\{|\}\}|\{[^{}\"'\\]*\})[^{}]*)*")
