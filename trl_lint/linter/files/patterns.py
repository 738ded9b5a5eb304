"""Patterns in gitignore syntax, matched in time that grows with the length of the path.

pathspec turns each pattern into a regular expression. With several `*` or `**` in it, there are many ways to split a
path, and `re` tries them all before it gives up: `*a*a*a*a*a*a*ab` takes minutes for one name of 60 letters. But of all
positions where the text after a star may match, the first is as good as any other, unless it is the last star of its
folder or file name, or the last `**`. So no other position need be tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import signature
from itertools import count
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.pattern import RegexPattern
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_Pattern = TypeVar("_Pattern", bound="RegexPattern")

# No real file has more, and each is matched against every path.
MOST = 5_000
# No path is longer, so a longer pattern matches none.
LONGEST = 4_096
# How pathspec translates `*` inside a name, `**/` at the front, and `/**` in the middle.
_STAR, _FRONT, _MIDDLE = "[^/]*", "^(?:.+/)?", "(?:/.+)?"
_NO_SLASH = "[^/]"


class TooMany(ValueError):
    """More patterns than the limit."""


def spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """A GitIgnoreSpec of these lines; invalid ones are ignored, as by git.

    Raises:
        TooMany: there are more than `MOST` patterns.
    """
    from pathspec import GitIgnoreSpec

    patterns: list[GitIgnoreSpecPattern] = []
    for line in lines:
        if len(line) > LONGEST:
            continue
        try:
            read = GitIgnoreSpec.from_lines([line]).patterns
            patterns += [_linear(each) for each in read if each.include is not None]
        except (ValueError, OverflowError, RecursionError):
            continue
        if len(patterns) > MOST:
            raise TooMany(f"more than {MOST:,} patterns")
    return of(patterns)


def of(patterns: Iterable[GitIgnoreSpecPattern]) -> GitIgnoreSpec:
    """A GitIgnoreSpec of patterns that are compiled already."""
    from pathspec import GitIgnoreSpec

    # Newer releases have other engines, which do not support look-ahead.
    if "backend" in signature(GitIgnoreSpec.__init__).parameters:
        return GitIgnoreSpec(list(patterns), backend="simple")
    return GitIgnoreSpec(list(patterns))


def _linear(pattern: _Pattern) -> _Pattern:
    if pattern.regex is None:
        return pattern
    text = pattern.regex.pattern
    rewritten = linear(text)
    return pattern if rewritten == text else type(pattern)(re.compile(rewritten), pattern.include)


def linear(regex: str) -> str:
    """The regular expression of a pattern, rewritten so that each star but the last commits to its first match."""
    numbers = count()
    *parts, last = [_first_stars(each, numbers) for each in regex.split(_MIDDLE)]
    found: list[str] = []
    for place, part in enumerate(parts):
        if place:
            found.append(_first(f"(?:/.+?)??{part}(?=/)", numbers))
        elif part.startswith(_FRONT):
            found.append("^" + _first(f"(?:.+?/)??{part.removeprefix(_FRONT)}(?=/)", numbers))
        else:
            found.append(part)
    return "".join([*found, _MIDDLE * bool(parts), last])


def _first_stars(part: str, numbers: Iterator[int]) -> str:
    """A part without `**`, rewritten so that the text after a star that isn't its name's last is searched once."""
    first, *pieces = part.split(_STAR)
    found = [first]
    for place, piece in enumerate(pieces):
        is_last = place == len(pieces) - 1 or "/" in piece.replace(_NO_SLASH, "")
        found.append(_STAR + piece if is_last else _first(f"[^/]*?{piece}", numbers))
    return "".join(found)


def _first(regex: str, numbers: Iterator[int]) -> str:
    """An expression that commits to its first match: Python 3.10 has no atomic groups."""
    name = f"first{next(numbers)}"
    return f"(?=(?P<{name}>{regex}))(?P={name})"
