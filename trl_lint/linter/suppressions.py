"""`# noqa`, read the way flake8 reads it, so that both ways into the tool agree on what is silenced.

`# noqa` silences a line, `# noqa: TRL001` one rule on it, `# noqa: item-before-gather` the same by name. A
line `# flake8: noqa` silences the file, with codes only those. As in flake8 a comment counts for its physical
line, and for all lines that a string or a backslash joins to it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from trl_lint.findings import Finding, Position
from trl_lint.launch.parsers.readers import NOTEBOOK, front_end, is_launch_file

if TYPE_CHECKING:
    from trl_lint.linter.cells.places import CodePart

# A file without these bytes holds no suppression, and needs no tokenizing.
NEEDLE = re.compile(rb"noqa", re.IGNORECASE)
_SEPARATORS = re.compile(r"[,\s]+")
_SILENT_TOKENS = frozenset({tokenize.ENDMARKER, tokenize.DEDENT, tokenize.ENCODING})
_LINE_ENDS = frozenset({tokenize.NL, tokenize.NEWLINE})


def split(
    findings: Sequence[Finding], source: bytes, path: PurePath | None = None
) -> tuple[list[Finding], list[Finding]]:
    """The findings that stand, and those that a comment in `source` silences.

    path: says what language the source is in; Python by default. In all others a comment counts for the lines
    that the finding spans.
    """
    if not findings or not NEEDLE.search(source):
        return list(findings), []
    places = Places(source, path)
    whole_file = _file_level(places.lines)
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        here = (_inline("".join(places.lines[first - 1 : last])) for first, last in places.spans(finding))
        silent = _covers(whole_file, finding) or any(_covers(words, finding) for words in here)
        (silenced if silent else kept).append(finding)
    return kept, silenced


class Places:
    """Where comments count for findings in a text.

    lines: those of the text; of a notebook, of all its cells. path: says what language the text is in.
    """

    def __init__(self, source: bytes, path: PurePath | None = None) -> None:
        self._cells: CodePart | None = None
        if path is not None and front_end(path) == NOTEBOOK:
            from trl_lint.linter.cells.notebook import all_cells

            self._cells = all_cells(path, source)
            source = self._cells.source
        self.python = self._cells is not None or path is None or not is_launch_file(path, source)
        self.lines = source_lines(source)
        self._joined = joined_lines(source) if self.python else {}

    def spans(self, finding: Finding) -> list[tuple[int, int]]:
        """From which of the lines to which a comment counts for a finding, for each line that it is told by."""
        starts = [self._line(each) for each in (finding.start, *finding.branches)]
        return [self._joined.get(line, (line, line)) if self.python else (line, finding.end.line) for line in starts]

    def noqa_row(self, finding: Finding) -> int:
        """The line, in the cell if there is one, at whose end a `# noqa` for a finding belongs."""
        last = self.spans(finding)[0][1]
        return last if self._cells is None else self._cells.lines[last - 1].number

    def around(self, finding: Finding) -> list[str]:
        """The lines among which a finding has its number: those of its cell, or of the whole text."""
        if self._cells is None or not finding.start.cell:
            return self.lines
        return source_lines(self._cells.texts.get(finding.start.cell, "").encode("utf-8", "replace"))

    def _line(self, place: Position) -> int:
        inside = place if self._cells is None else self._cells.here(place)
        return place.line if inside is None else inside.line


def noqa_row(source: bytes, line: int) -> int:
    """The line at whose end a `# noqa` for `line` belongs: inside a string there is no room for a comment."""
    return joined_lines(source).get(line, (line, line))[1]


def decode(source: bytes) -> str:
    """The text of a Python file; Latin-1 stands in where its own encoding fails, so this never raises."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return source.decode("latin-1")


def source_lines(source: bytes) -> list[str]:
    """The lines as Python counts them: a form feed or U+2028 inside a line does not end it."""
    return io.StringIO(decode(source), newline=None).readlines()


def joined_lines(source: bytes) -> dict[int, tuple[int, int]]:
    """For every line the first and the last line of the group it forms with its neighbours.

    This is flake8's `_noqa_line_mapping`: strings and backslashes join lines, brackets do not. Where the
    source can't be tokenized every line stands for itself.
    """
    spans: dict[int, tuple[int, int]] = {}
    pending: list[int] = []
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type in _SILENT_TOKENS:
                continue
            pending += (token.start[0], token.end[0])
            if token.type in _LINE_ENDS:
                span = (min(pending), max(pending))
                spans.update(dict.fromkeys(range(span[0], span[1] + 1), span))
                pending = []
    except (tokenize.TokenError, SyntaxError, UnicodeError, ValueError, RecursionError):
        return {}
    return spans


def _covers(words: frozenset[str] | None, finding: Finding) -> bool:
    """Whether a comment silences a finding. None is no comment; no words is a comment for everything."""
    if words is None:
        return False
    return not words or finding.name in words or finding.code.startswith(tuple(words))


def _file_level(lines: Iterable[str]) -> frozenset[str] | None:
    matches = [match for line in lines if (match := _patterns()[1].match(line))]
    words = [_words(match) for match in matches]
    if not words:
        return None
    return frozenset() if frozenset() in words else frozenset().union(*words)


def _inline(line: str) -> frozenset[str] | None:
    match = _patterns()[0].search(line)
    return _words(match) if match else None


def _words(match: re.Match[str]) -> frozenset[str]:
    words = (word for word in _SEPARATORS.split(match["codes"] or "") if word)
    # A name is known in any case; a code only as it is written, as in flake8.
    return frozenset(word.lower() if "-" in word else word for word in words)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """flake8's two patterns, with our rules' names beside the codes."""
    from trl_lint.rules import all_rules

    names = "|".join(rf"{re.escape(rule.name)}(?![\w-])" for rule in all_rules())
    codes = rf"(?::[\s]?(?P<codes>(?:(?:{names}|[A-Z]+[0-9]+)(?:[,\s]+)?)+))?"
    inline = re.compile(rf"# noqa{codes}", re.IGNORECASE)
    return inline, re.compile(rf"\s*# flake8[:=]\s*noqa{codes}", re.IGNORECASE)
