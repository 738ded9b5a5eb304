"""Where strings in three quotes end, found without going through them character by character."""

from __future__ import annotations

from typing import AnyStr


def end_of_long(text: AnyStr, start: int, quotes: AnyStr) -> int:
    """The place behind the three quotes that close a string, searched from `start` on; -1 if nothing closes it."""
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
