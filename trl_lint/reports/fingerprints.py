"""What tells a finding from the others of its file and stays the same when code around it moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trl_lint.findings import Finding
from trl_lint.linter.cache import digest
from trl_lint.linter.suppressions import source_lines

_SHORT = 32


def fingerprints(findings: Sequence[Finding], source: bytes) -> list[str]:
    """One for each finding of a file, by its rule and the code that it is about, and no two of them alike.

    Neither the numbers of the lines nor their indentation count, nor does the path of the file. Of findings alike in
    all that, the first is told from the second by standing before it.
    """
    lines = source_lines(source)
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        code = "".join(lines[finding.start.line - 1 : finding.end.line])
        about = "\0".join((finding.code, *code.split()))
        found.append(short(f"{about}\0{seen[about]}"))
        seen[about] += 1
    return found


def short(text: str) -> str:
    """A digest of a text, whatever characters it has."""
    return digest(text.encode("utf-8", "surrogatepass"))[:_SHORT]
