"""Keys for the code that computes what is stored: they change with every edit of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from trl_lint import __version__
from trl_lint.linter.store.cache import digest


def key_of(*parts: object) -> str:
    """A key for JSON values, and others with a text that is the same in each process."""
    return digest(json.dumps(parts, sort_keys=True, default=str).encode())[:32]


@cache
def tool_key() -> str:
    """A key for the tool itself and the Python version it runs on."""
    spec = find_spec("trl_lint.codemods")
    packages = [str(Path(__file__).parents[2]), *(spec.submodule_search_locations or () if spec else ())]
    return key_of(__version__, sys.version, [_code_key(package) for package in packages])


def tools_key(plugins: tuple[str, ...]) -> str:
    """A key for the tool and for the plugins that a project uses."""
    if not plugins:
        return tool_key()
    from trl_lint.plugins import folders_of

    return key_of(tool_key(), [_code_key(folder) for folder in folders_of(plugins)])


def _code_key(package: str) -> str:
    """A key that changes with every edit of the code in a folder."""
    states = ((entry.path[len(package) :], entry.stat()) for entry in _code(package))
    return digest(repr(sorted((path, state.st_mtime_ns, state.st_size) for path, state in states)).encode())


def _code(package: str) -> Iterator[os.DirEntry[str]]:
    """The files of a package. Files in an archive cannot be listed, nor edited."""
    folders = [package]
    for folder in folders:
        with suppress(NotADirectoryError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders += [entry.path] * (entry.name != "__pycache__")
                elif entry.name.endswith(".py"):
                    yield entry
