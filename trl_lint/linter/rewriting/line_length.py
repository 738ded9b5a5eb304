"""The line length of a project: that of its formatter or linter, otherwise what the file itself shows."""

from __future__ import annotations

import configparser
import io
import os
import re
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from trl_lint import files, toml

# The default: more than formatters use, and what most reviewers still accept.
USUAL = 120
# The default of black and ruff: that of black's table without a line length.
_BLACK = 88
# Brackets that a formatter opened because a line was too long: it puts no comma after what it moves to one line.
_OPENED = re.compile(r"^( *)(\S.*[(\[{])\n\1    (\S.*[^,\s])\n\1([)\]}].*)$", re.MULTILINE)
# With fewer of them, a file does not show that it is formatted.
_ENOUGH = 3
# A line with a longer piece of text may be too long because it can't be broken.
_TEXT = 30
# The tables of `pyproject.toml` that have a `line-length`, and the files that contain only ruff's settings.
_TABLES = ("ruff", "black")
_RUFF = (".ruff.toml", "ruff.toml")
# Files with a section for flake8 or pycodestyle, which may have a `max-line-length`.
_SECTIONED = (".flake8", "setup.cfg", "tox.ini")
_SECTIONS = ("flake8", "pycodestyle")
_NOT_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.INDENT,
        tokenize.NEWLINE,
        tokenize.NL,
    }
)
_WORDS = frozenset({tokenize.NAME, tokenize.NUMBER, tokenize.OP})
# The search for settings ends at the folder that contains this.
_TOP = ".git"


def limit_for(path: Path, text: str) -> int:
    """The maximum length of a new line, in characters.

    If the project has no setting, it is the length that many lines of the file have, or that of a formatter whose work
    the file shows.
    """
    declared = _declared(path.parent)
    if declared:
        return declared
    lengths = _lengths(text)
    if lengths and lengths[0] <= _BLACK and _is_formatted(text):
        return _BLACK
    return max(USUAL, lengths[len(lengths) // 100] if lengths else 0)


def _lengths(text: str) -> list[int]:
    """The lengths of all lines of code, the longest first: without comments, documentation and long texts."""
    ends: dict[int, int] = {}
    texts: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _NOT_CODE:
                continue
            (first, _), (last, end) = token.start, token.end
            ends[last] = end
            if last > first or (token.type not in _WORDS and len(token.string) > _TEXT):
                texts.update(range(first, last + 1))
    except (tokenize.TokenError, SyntaxError):  # not plain Python: all lines count
        return sorted(map(len, text.splitlines()), reverse=True)
    return sorted((end for line, end in ends.items() if line not in texts), reverse=True)


def _is_formatted(text: str) -> bool:
    """Whether brackets are opened where lines would be longer than black's default, and nowhere else."""
    joined = [len("".join(match.groups())) for match in _OPENED.finditer(text)]
    return len(joined) >= _ENOUGH and min(joined) > _BLACK


@lru_cache(maxsize=256)
def _declared(folder: Path) -> int:
    """The setting of a folder, or of the nearest one above that has one; 0 if there is none."""
    own = next(_in(folder), 0)
    if own or folder == folder.parent or os.path.exists(folder / _TOP):
        return own
    return _declared(folder.parent)


def _in(folder: Path) -> Iterator[int]:
    for name in _RUFF:
        yield from _number(_toml(folder / name), "line-length")
    tools = _toml(folder / "pyproject.toml").get("tool")
    for name in _TABLES:
        table = tools.get(name) if isinstance(tools, dict) else None
        if isinstance(table, dict):
            yield from _number(table, "line-length")
            if name == "black" and "line-length" not in table:
                yield _BLACK
    for name in _SECTIONED:
        yield from _sectioned(folder / name)


def _number(table: toml.Table, key: str) -> Iterator[int]:
    value = table.get(key)
    if isinstance(value, int) and value > 0:
        yield value


def _toml(path: Path) -> toml.Table:
    """The table in a file; empty if there is none or it can't be read."""
    try:
        return toml.parse(files.read(path).decode())
    except (OSError, ValueError, RecursionError):
        return {}


def _sectioned(path: Path) -> Iterator[int]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(files.read(path).decode())
    except (OSError, ValueError, configparser.Error):
        return
    for section in _SECTIONS:
        for key in ("max-line-length", "max_line_length"):
            value = parser.get(section, key, fallback="")
            if value.isdecimal() and int(value) > 0:
                yield int(value)
