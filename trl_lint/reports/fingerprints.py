"""Identifies findings for services that compare runs, independent of moved code."""

from __future__ import annotations

from collections import Counter

from trl_lint.linter.runner import FileResult
from trl_lint.linter.store.cache import digest
from trl_lint.linter.suppression import fingerprints

_SHORT = 32


def distinct(result: FileResult) -> list[str]:
    """A unique identifier for each finding of a file: its fingerprint in a baseline, numbered among equal ones."""
    seen: Counter[fingerprints.Fingerprint] = Counter()
    found = []
    for each in fingerprints.fingerprints(result.findings, result.path, result.source):
        found.append(short(f"{each.code}\0{each.scope}\0{each.statement}\0{seen[each]}"))
        seen[each] += 1
    return found


def short(text: str) -> str:
    """A digest of a text with any characters."""
    return digest(text.encode("utf-8", "surrogatepass"))[:_SHORT]
