"""The files that settings come from: which of them apply to a folder, and what each contains.

    .trl-lint.toml, trl-lint.toml    all of the file
    pyproject.toml                   its table [tool.trl-lint]

The nearest one applies; within a folder, the first in this order. With `extend`, a file inherits the keys of another
one that it does not set itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trl_lint import files, toml
from trl_lint.settings import ConfigError
from trl_lint.toml import Table

PROJECT = "pyproject.toml"
OWN_FILES = (".trl-lint.toml", "trl-lint.toml")
NAMES = (*OWN_FILES, PROJECT)


class SettingFile(NamedTuple):
    """A file and its keys."""

    path: Path
    table: Table

    @property
    def where(self) -> str:
        """The location of a key in it, as the beginning of a message."""
        return f"{self.path}: [tool.trl-lint] " if self._is_shared else f"{self.path}: "

    @property
    def suffix(self) -> str:
        return " in [tool.trl-lint]" if self._is_shared else ""

    @property
    def _is_shared(self) -> bool:
        return not is_own(self.path)


def is_own(path: Path) -> bool:
    """Whether a file contains only settings of this tool."""
    return path.name.endswith("trl-lint.toml")


def nearest(start: Path) -> tuple[SettingFile | None, Path | None]:
    """The settings file that applies to a folder or file, and the folder of the project.

    If there is no such file, the project is the folder of the nearest pyproject.toml. As in ruff, one without a table
    does not hide another one above it.

    Raises:
        ConfigError: a file can't be read.
    """
    project = None
    for folder in (start, *start.parents):
        for name in NAMES:
            path = folder / name
            if not os.path.isfile(path):
                continue
            if name == PROJECT:
                project = project or folder
            table = table_of(path)
            if table is not None:
                return SettingFile(path, table), folder
    return None, project


def named(path: Path) -> SettingFile:
    """A file that the user named.

    Raises:
        ConfigError: it can't be read, or has no settings.
    """
    table = table_of(path)
    if table is None:
        raise ConfigError(f"{path}: has no [tool.trl-lint] table")
    return SettingFile(path, table)


def extended(file: SettingFile) -> list[SettingFile]:
    """The files that a file extends, followed by the file itself: later values override earlier ones.

    Raises:
        ConfigError: one of them can't be read, or they extend each other in a cycle.
    """
    chain = [file]
    while (base := chain[0].table.get("extend")) is not None:
        first = chain[0]
        if not isinstance(base, str):
            raise ConfigError(f"{first.where}extend: must be the path of a file")
        path = Path(os.path.normpath(first.path.parent / os.path.expanduser(base)))
        if any(os.path.abspath(path) == os.path.abspath(each.path) for each in chain):
            raise ConfigError(f"{first.where}extend: {path} extends this file itself")
        try:
            chain.insert(0, named(path))
        except ConfigError as error:
            raise ConfigError(f"{first.where}extend: {error}") from None
    return chain


def table_of(path: Path) -> Table | None:
    """The settings in a TOML file; None if it has none.

    Raises:
        ConfigError: it can't be read.
    """
    try:
        document = toml.parse(files.read(path).decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read: {error.strerror}") from None
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise ConfigError(f"{path}: cannot parse: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(f"{path}: cannot parse: nested too deeply") from None
    return document if is_own(path) else _own_table(path, document)


def _own_table(path: Path, document: Table) -> Table | None:
    """This tool's table in a file shared with other tools."""
    tool = document.get("tool", {})
    table = tool.get("trl-lint") if isinstance(tool, dict) else None
    misspelled = next(_misspelled(document), None)
    if misspelled:
        raise ConfigError(f"{path}: [{misspelled}] is not read; did you mean `[tool.trl-lint]`?")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.trl-lint] must be a table")
    return table


def _misspelled(document: Table) -> Iterator[str]:
    """The tables of a TOML file that can only be misspellings of this tool's table, by their names."""
    tool = document.get("tool")
    tables = (("", document), ("tool.", tool if isinstance(tool, dict) else {}))
    for above, names in tables:
        for name in names:
            if above + name != "tool.trl-lint" and _is_nearly("trllint", name):
                quoted = name if all(char.isalnum() or char in "-_" for char in name) else f'"{name}"'
                yield above + quoted


def _is_nearly(word: str, name: str) -> bool:
    """Whether a name, ignoring case and punctuation, equals a word or is one or two letters off."""
    plain = "".join(char for char in name.lower() if char.isalnum())
    if plain == word:
        return True
    # Most tables are not similar at all; only for similar names is the import worthwhile.
    if abs(len(plain) - len(word)) > 2 or not plain.startswith(word[:2]):
        return False
    from difflib import SequenceMatcher

    return SequenceMatcher(None, plain, word).ratio() > 0.85
