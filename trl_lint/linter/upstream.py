"""Findings in a copy of a released trainer: which release has the fix.

People copy a trainer of TRL and change a part of it. An unchanged method has the bugs of its release, and a later
release has the fixed method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache, lru_cache

from trl_lint.knowledge.upstream import ROWS, FixedBug

LENGTH = 12


def digest(lines: Iterable[str]) -> str:
    """The digest of a function's lines, without indentation, blank lines, and lines that are only a comment."""
    code = (line.strip() for line in lines)
    text = "\n".join(line for line in code if line and not line.startswith("#"))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


@cache
def names(code: str) -> frozenset[str]:
    """The names of the functions in which a release fixed a bug of this rule: a copy of one has its name."""
    return frozenset(row.symbol.rpartition(".")[2] for row in ROWS if row.rule == code)


def fixed_release(code: str, text: str, functions: Iterable[tuple[int, int]], line: int) -> FixedBug | None:
    """The row about a function around this line, if it is that of a release which had a bug of this rule.

    text: that of the file. functions: of those with one of their `names`, the line of the `def`, and the last one.
    """
    known = _by_digest().get(code, {})
    around = (lines for lines in functions if lines[0] <= line <= lines[1])
    return next((known[found] for first, last in around if (found := _digest_of(text, first, last)) in known), None)


# A function may have many findings.
@lru_cache(maxsize=64)
def _digest_of(text: str, first: int, last: int) -> str:
    return digest(text.splitlines()[first - 1 : last])


@cache
def _by_digest() -> dict[str, dict[str, FixedBug]]:
    found: dict[str, dict[str, FixedBug]] = {}
    for row in ROWS:
        found.setdefault(row.rule, {}).update(dict.fromkeys(row.digests, row))
    return found
