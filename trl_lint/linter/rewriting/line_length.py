"""The line length of a project: that of its formatter or linter, otherwise what the file itself shows."""

from __future__ import annotations

import configparser
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from trl_lint import files, toml

# The default: more than formatters use, and what most reviewers still accept.
USUAL = 120
# The default of black if its table has no line length.
_BLACK = 88
# The tables of `pyproject.toml` that have a `line-length`, and the files that contain only ruff's settings.
_TABLES = ("ruff", "black")
_RUFF = (".ruff.toml", "ruff.toml")
# Files with a section for flake8 or pycodestyle, which may have a `max-line-length`.
_SECTIONED = (".flake8", "setup.cfg", "tox.ini")
_SECTIONS = ("flake8", "pycodestyle")
# The search for settings ends at the folder that contains this.
_TOP = ".git"


def limit_for(path: Path, text: str) -> int:
    """The maximum length of a new line, in characters.

    If the project has no setting, it is the length that many lines of the file have.
    """
    return _declared(path.parent) or max(USUAL, _shown(text))


def _shown(text: str) -> int:
    """The length of the longest line of a file, ignoring one in a hundred: a string or a URL that can't be broken."""
    lengths = sorted(map(len, text.splitlines()), reverse=True)
    return lengths[len(lengths) // 100] if lengths else 0


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
