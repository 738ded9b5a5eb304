"""The edit that silences a finding: its code in a `# noqa` comment, in the one that is there or in a new one."""

from __future__ import annotations

from pathlib import Path

from trl_lint.findings import Edit, Finding, Position
from trl_lint.launch.parsers.readers import is_launch_file
from trl_lint.linter import suppressions

# Files in which there is no room for a comment.
_NO_COMMENTS = frozenset({".json", ".ipynb"})


def silencing(source: bytes, path: Path, finding: Finding) -> Edit | None:
    """What to insert so that a comment silences a finding; None where the file can hold none."""
    if path.suffix in _NO_COMMENTS:
        return None
    is_launch = is_launch_file(path, source)
    line = finding.start.line
    spans = {} if is_launch else suppressions.joined_lines(source)
    first, last = spans.get(line, (line, finding.end.line if is_launch else line))
    lines = [each.rstrip("\r\n") for each in suppressions.source_lines(source)]
    for number, text in enumerate(lines[first - 1 : last], first):
        place = suppressions.end_of_codes(text)
        if place is not None:
            return _inserted(number, place, f", {finding.code}")
    return _inserted(last, len(lines[last - 1].rstrip()), f"  # noqa: {finding.code}")


def _inserted(line: int, offset: int, text: str) -> Edit:
    place = Position(line, offset + 1)
    return Edit(place, place, text)
