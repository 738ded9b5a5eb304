"""Findings in a copy of a released trainer: which release of it is mended.

People copy a trainer of TRL as a whole and change a part of it. A method that they left as it was has the release's own
bugs, and there is a release to take the mended method from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache, lru_cache

from trl_lint.knowledge.upstream import ROWS, Mended

LENGTH = 12


def digest(lines: Iterable[str]) -> str:
    """Of a function's lines, whatever their indentation; blank lines and comments of their own do not count."""
    code = (line.strip() for line in lines)
    text = "\n".join(line for line in code if line and not line.startswith("#"))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def concerns(code: str) -> bool:
    """Whether any release is known that mended a bug of this rule."""
    return code in _by_digest()


def mended(code: str, text: str, functions: Iterable[tuple[int, int]], line: int) -> Mended | None:
    """What is known of a function around this line that is one of a release and had a bug of this rule.

    text: that of the file. functions: the line of each one's `def`, and its last one.
    """
    known = _by_digest().get(code, {})
    around = (lines for lines in functions if lines[0] <= line <= lines[1])
    return next((known[found] for first, last in around if (found := _digest_of(text, first, last)) in known), None)


# A function may have many findings.
@lru_cache(maxsize=64)
def _digest_of(text: str, first: int, last: int) -> str:
    return digest(text.splitlines()[first - 1 : last])


@cache
def _by_digest() -> dict[str, dict[str, Mended]]:
    found: dict[str, dict[str, Mended]] = {}
    for row in ROWS:
        found.setdefault(row.rule, {}).update(dict.fromkeys(row.digests, row))
    return found
