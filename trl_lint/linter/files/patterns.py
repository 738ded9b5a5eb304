"""Patterns in gitignore's language, matched in time that grows with the path and not with the ways to read it.

pathspec makes a regular expression of each pattern. With several `*` or `**` in it, the ways to share a path out among
them are many, and `re` tries them all before it gives up: `*a*a*a*a*a*a*ab` takes minutes for one name of 60 letters.
But of all places where what stands behind a star may begin, the first is as good as any other, unless it is the last
star of its folder or file name, or the last `**`. So no other place need ever be tried.
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

# Nobody writes more, and each is held against every path.
MOST = 5_000
# No path is longer, nor is a pattern that one fits.
LONGEST = 4_096
# How pathspec writes `*` inside a name, `**/` at the front, and `/**` in the middle.
_STAR, _FRONT, _MIDDLE = "[^/]*", "^(?:.+/)?", "(?:/.+)?"
_NO_SLASH = "[^/]"


class TooMany(ValueError):
    """More patterns than anybody writes."""


def spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """A GitIgnoreSpec of these lines; those that can't be read are passed over, as by git.

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
    """A GitIgnoreSpec of patterns that are made already."""
    from pathspec import GitIgnoreSpec

    # Newer releases have other engines, which know no look-ahead.
    if "backend" in signature(GitIgnoreSpec.__init__).parameters:
        return GitIgnoreSpec(list(patterns), backend="simple")
    return GitIgnoreSpec(list(patterns))


def _linear(pattern: _Pattern) -> _Pattern:
    if pattern.regex is None:
        return pattern
    text = pattern.regex.pattern
    made = linear(text)
    return pattern if made == text else type(pattern)(re.compile(made), pattern.include)


def linear(regex: str) -> str:
    """The regular expression of a pattern such that each star but the last settles for the first place that fits."""
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
    """A part without `**`: in each name, what follows a star that is not the last one is looked for once."""
    first, *pieces = part.split(_STAR)
    found = [first]
    for place, piece in enumerate(pieces):
        is_last = place == len(pieces) - 1 or "/" in piece.replace(_NO_SLASH, "")
        found.append(_STAR + piece if is_last else _first(f"[^/]*?{piece}", numbers))
    return "".join(found)


def _first(regex: str, numbers: Iterator[int]) -> str:
    """An expression that takes its first match for the only one: Python 3.10 has no atomic groups."""
    name = f"first{next(numbers)}"
    return f"(?=(?P<{name}>{regex}))(?P={name})"
