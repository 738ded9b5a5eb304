"""`#` comments in files with launch commands, and whether an edit changes the commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from trl_lint.launch.parsers import readers

# The kinds of files, other than Python, in which a comment begins with `#`.
_KINDS = frozenset(
    {
        readers.SHELL,
        readers.MAKEFILE,
        readers.DOCKERFILE,
        readers.YAML,
        readers.JUSTFILE,
        readers.TOX,
        readers.PYPROJECT,
        readers.SNAKEMAKE,
    }
)
_QUOTES = "\"'"
_BLANKS = ("", " ", "\t")
_HEREDOC = re.compile(r"(?<!<)<<(?!<)-?[ \t]*\\?[\"']?(\w+)")


def has_them(path: Path, source: bytes) -> bool:
    """Whether a file is of a kind that has such comments."""
    return readers.front_end(path, source) in _KINDS


def hash_comments(lines: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """The comments: line, column counted from 0, and text.

    Whatever may be inside a string (even one that starts on an earlier line) or a here-document does not count.
    """
    quote, end = "", ""
    for number, line in enumerate(lines, 1):
        if end:
            end = end * (line.strip() != end)
            continue
        column, quote = _comment_in(line, quote)
        if column is not None:
            yield number, column, line[column:].rstrip("\r\n")
        found = _HEREDOC.search(line[:column])
        end = found[1] if found else ""


def _comment_in(line: str, quote: str) -> tuple[int | None, str]:
    """Where a comment begins in a line, and which quote is open after the line. quote: the one open before it."""
    quote_in_line = (
        ""  # the open quote if none was before: a quote in prose must not turn the following strings into code
    )
    escaped = False
    for place, letter in enumerate(line):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = quote != "'"
        elif letter in _QUOTES:
            quote, quote_in_line = _after(quote, letter), _after(quote_in_line, letter)
        elif letter == "#" and not quote and not quote_in_line and line[max(place - 1, 0) : place] in _BLANKS:
            return place, quote
    return None, quote


def _after(quote: str, letter: str) -> str:
    """Which quote is open after a quotation mark."""
    return letter if not quote else "" if quote == letter else quote


def runs_the_same(path: Path, before: bytes, after: bytes) -> bool:
    """Whether a file still has the same commands."""
    old, new = readers.read(path, before), readers.read(path, after)
    return old.problem == new.problem and list(_words(path, before)) == list(_words(path, after))


def _words(path: Path, source: bytes) -> Iterator[tuple[str | None, ...]]:
    for command in readers.all_commands(path, source):
        yield tuple(word.raw if word.value is None else word.value for word in command.words)
