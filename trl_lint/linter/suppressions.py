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

from trl_lint.findings import Finding
from trl_lint.launch.parsers.readers import is_launch_file

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
    known = frozenset(finding.name for finding in findings)
    lines = source_lines(source)
    python = path is None or not is_launch_file(path, source)
    spans = joined_lines(source) if python else {}
    whole_file = _file_level(lines, known)
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        own = [spans.get(line, (line, line)) if python else (line, finding.end.line) for line in finding.lines]
        here = (_inline("".join(lines[first - 1 : last]), known) for first, last in own)
        silent = _covers(whole_file, finding) or any(_covers(words, finding) for words in here)
        (silenced if silent else kept).append(finding)
    return kept, silenced


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


def _file_level(lines: Iterable[str], known: frozenset[str]) -> frozenset[str] | None:
    matches = [match for line in lines if (match := _patterns(known)[1].match(line))]
    words = [_words(match) for match in matches]
    if not words:
        return None
    return frozenset() if frozenset() in words else frozenset().union(*words)


def _inline(line: str, known: frozenset[str]) -> frozenset[str] | None:
    match = _patterns(known)[0].search(line)
    return _words(match) if match else None


def _words(match: re.Match[str]) -> frozenset[str]:
    words = (word for word in _SEPARATORS.split(match["codes"] or "") if word)
    # A name is known in any case; a code only as it is written, as in flake8.
    return frozenset(word.lower() if "-" in word else word for word in words)


@cache
def _patterns(known: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """flake8's two patterns, with the names of rules beside the codes: of ours, and of those that found something."""
    from trl_lint.rules import all_rules

    every = sorted({rule.name for rule in all_rules()} | known)
    names = "|".join(rf"{re.escape(name)}(?![\w-])" for name in every)
    codes = rf"(?::[\s]?(?P<codes>(?:(?:{names}|[A-Z]+[0-9]+)(?:[,\s]+)?)+))?"
    inline = re.compile(rf"# noqa{codes}", re.IGNORECASE)
    return inline, re.compile(rf"\s*# flake8[:=]\s*noqa{codes}", re.IGNORECASE)
