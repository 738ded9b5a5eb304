"""The marks of the fixtures: `# expect: TRL001, TRL005` at the end of a line on which these rules report something."""

from __future__ import annotations

import re

MARK = re.compile(r"[ \t]*# expect: (?P<codes>[A-Z0-9, ]+)$", re.MULTILINE)


def expected(text: str) -> set[tuple[int, str]]:
    """The (line, code) pairs that the marks of a fixture name."""
    marks = set()
    for number, line in enumerate(text.split("\n"), 1):
        found = MARK.search(line)
        if found:
            marks |= {(number, code.strip()) for code in found["codes"].split(",")}
    return marks
