"""The files that settings come from: which of them hold for a folder, and what each says.

    .trl-lint.toml, trl-lint.toml    all of the file
    pyproject.toml                   its table [tool.trl-lint]

The nearest one counts, of one folder the first in this order. With `extend` a file takes over what another one says and
it does not say itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trl_lint import files, toml
from trl_lint.settings import ConfigError
from trl_lint.toml import Table

PROJECT = "pyproject.toml"
OWN_FILES = (".trl-lint.toml", "trl-lint.toml")
NAMES = (*OWN_FILES, PROJECT)


@dataclass(frozen=True, slots=True)
class SettingFile:
    """A file and the keys that it has."""

    path: Path
    table: Table

    @property
    def where(self) -> str:
        """Where a key of it stands, as the beginning of what is said of one."""
        return f"{self.path}: [tool.trl-lint] " if self._is_shared else f"{self.path}: "

    @property
    def suffix(self) -> str:
        return " in [tool.trl-lint]" if self._is_shared else ""

    @property
    def _is_shared(self) -> bool:
        return not is_own(self.path)


def is_own(path: Path) -> bool:
    """Whether a file holds nothing but settings of this tool."""
    return path.name.endswith("trl-lint.toml")


def nearest(start: Path) -> tuple[SettingFile | None, Path | None]:
    """The file that holds for a folder or file, and the folder of the project: without such a file that of the nearest
    pyproject.toml, which as in ruff does not hide one above it when it has no table.

    Raises:
        ConfigError: a file that can't be read.
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
    """A file that somebody has named.

    Raises:
        ConfigError: it can't be read, or has no settings.
    """
    table = table_of(path)
    if table is None:
        raise ConfigError(f"{path}: has no [tool.trl-lint] table")
    return SettingFile(path, table)


def extended(file: SettingFile) -> list[SettingFile]:
    """A file behind those that it extends: what stands later counts.

    Raises:
        ConfigError: one of them can't be read, or they go round in a circle.
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
    """The settings in a TOML file; None when it has none.

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
    """Our table of a file that others have theirs in."""
    tool = document.get("tool", {})
    table = tool.get("trl-lint") if isinstance(tool, dict) else None
    misspelled = next(_misspelled(document), None)
    if misspelled:
        raise ConfigError(f"{path}: [{misspelled}] is not read; did you mean `[tool.trl-lint]`?")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.trl-lint] must be a table")
    return table


def _misspelled(document: Table) -> Iterator[str]:
    """The tables of a TOML file that can only be meant for this tool, as their names stand in it."""
    tool = document.get("tool")
    tables = (("", document), ("tool.", tool if isinstance(tool, dict) else {}))
    for above, names in tables:
        for name in names:
            if above + name != "tool.trl-lint" and _is_nearly("trllint", name):
                quoted = name if all(char.isalnum() or char in "-_" for char in name) else f'"{name}"'
                yield above + quoted


def _is_nearly(word: str, name: str) -> bool:
    """Whether a name, whatever its case and its punctuation, is a word or a slip of one or two letters away."""
    plain = "".join(char for char in name.lower() if char.isalnum())
    if plain == word:
        return True
    # Most tables are far from it: only for those that are near is it worth an import.
    if abs(len(plain) - len(word)) > 2 or not plain.startswith(word[:2]):
        return False
    from difflib import SequenceMatcher

    return SequenceMatcher(None, plain, word).ratio() > 0.85
