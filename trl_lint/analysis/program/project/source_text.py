"""Code without its comments and strings, and the ends of triple-quoted strings, found without a scan by character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import AnyStr


def end_of_long(text: AnyStr, start: int, quotes: AnyStr) -> int:
    """The position after the three quotes that close a string, searched from `start` on; -1 if nothing closes it."""
    backslash = b"\\" if isinstance(text, bytes) else "\\"
    found = text.find(quotes, start)
    while found >= 0:
        first = found
        while first > start and text[first - 1 : first] == backslash:
            first -= 1
        if (found - first) % 2 == 0:
            return found + 3
        start = found + 1
        found = text.find(quotes, start)
    return -1


# Comments and strings (of triple-quoted strings the start only), and unclosed quotes: each position of a text is
# matched only once. Of these, only f-strings hold code, and only a string of one word can name something.
_TEXT = re.compile(
    rb"""(?P<long>\"{3}|'{3})"""
    rb"""|(?P<short>"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*')|\#[^\r\n]*"""
    rb"""|(?P<open>"[^"\\\n]*(?:\\.[^"\\\n]*)*|'[^'\\\n]*(?:\\.[^'\\\n]*)*)""",
    re.DOTALL,
)


# The longest part that holds only code and strings without blanks, which are not matched one by one.
_CODE = re.compile(rb"""[^"'#]*(?:(?:"(?!"")[^"\s\\]*"|'(?!'')[^'\s\\]*')[^"'#]*)*""")
_SEVERAL_WORDS = re.compile(rb"\w\s+\w")


def code_of(source: bytes) -> bytes:
    """The source without comments, prose in strings and harmless names: the rest decides whether a file is relevant."""
    from trl_lint.knowledge.heuristics import HARMLESS

    return HARMLESS.blanked(b"".join(_code_in(source)))


def _code_in(source: bytes) -> Iterator[bytes]:
    place = 0
    match = _TEXT.search(source, _end_of_code(source, 0))
    while match is not None:
        start, end = match.span()
        if match["long"]:
            end = end_of_long(source, end, match["long"])
            if end < 0:  # an unclosed string is treated as code
                break
        yield source[place:start]
        place = end
        yield source[start:end] if _may_be_code(source, match, start) else b" "
        match = _TEXT.search(source, _end_of_code(source, place))
    yield source[place:]


def _end_of_code(source: bytes, place: int) -> int:
    match = _CODE.match(source, place)
    return match.end() if match is not None else place


def _may_be_code(source: bytes, match: re.Match[bytes], start: int) -> bool:
    if match["open"]:
        return True
    if match["short"] and not _SEVERAL_WORDS.search(match["short"]):
        return True
    is_string = match["short"] or match["long"]
    return bool(is_string and _HOLDS_CODE.search(source[max(start - 3, 0) : start]))


_HOLDS_CODE = re.compile(rb"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])$")


# Asked for each finding in a definition.
@lru_cache(maxsize=256)
def count_of(name: str, code: bytes) -> int:
    """How often a name occurs in code, as a whole word."""
    return len(re.findall(rb"(?<!\w)%b(?!\w)" % re.escape(name).encode(), code))
