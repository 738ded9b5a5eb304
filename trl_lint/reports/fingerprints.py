"""What tells a finding from the others of its file for services that compare runs, and stays when code moves."""

from __future__ import annotations

from collections import Counter

from trl_lint.linter.runner import FileResult
from trl_lint.linter.store.cache import digest
from trl_lint.linter.suppression import fingerprints

_SHORT = 32


def distinct(result: FileResult) -> list[str]:
    """One for each finding of a file, no two of them alike: what a baseline knows it by, and which of these it is."""
    seen: Counter[fingerprints.Fingerprint] = Counter()
    found = []
    for each in fingerprints.fingerprints(result.findings, result.path, result.source):
        found.append(short(f"{each.code}\0{each.scope}\0{each.statement}\0{seen[each]}"))
        seen[each] += 1
    return found


def short(text: str) -> str:
    """A digest of a text, whatever characters it has."""
    return digest(text.encode("utf-8", "surrogatepass"))[:_SHORT]
