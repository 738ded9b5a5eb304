"""Which front end reads a file. A file that can't start Python is never parsed, and no parser is imported for it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from trl_lint import files

if TYPE_CHECKING:
    from trl_lint.launch.commands.commands import Command, Commands

# A file with none of these starts no Python: the last two start it without its name.
NEEDLES = (b"python", b"PYTHON", b"uv run", b"sys.executable")
# Launchers that Python code calls by their own names, in a line for the shell.
LAUNCHERS = ("torchrun", "accelerate launch", "deepspeed")
# Nor does Python code without one of these: a written-out start, or Python as a word.
PYTHON_STARTS = (
    r"python[\d.]*[ \t]+(?:-[uOB]+[ \t]+)*(?:-[umOB]*m[ \t]*\w|[^\s\"']*\.py\b|[{$\"'\\])"
    r"|[\"'][^\s\"']*python[\d.]*[\"']|sys\.executable|uv run"
    rf"|[\"' ](?:{'|'.join(LAUNCHERS)})[ \t]"
)
# The names with which Python code starts programs. Without them only its docstring, before the code, can hold commands.
_CALLS = tuple(b"subprocess Popen os.system os.popen os.exec os.spawn check_call".split())
_CODE = (b"\nimport ", b"\nclass ", b"\ndef ")
# The shells in a shebang line, for files without a suffix.
_SHEBANG = rb"#!.*?\b(?:ba|z|k|da)?sh\b"
# Larger files are data: no launch script has 5 megabytes. Notebooks contain images.
LARGEST = 2_000_000
LARGEST_NOTEBOOK = 30_000_000
# Files too large to be read are searched up to this many bytes for a word that starts Python.
MOST_SEARCHED = 200_000_000


class Reading(NamedTuple):
    """What was found in a file. problem: why it could not be read, in one line; "" if it could."""

    text: str
    commands: tuple[Command, ...]
    problem: str = ""


# Front ends, as module and function; imported for the first such file.
SHELL = "shell:commands"
MAKEFILE = "makefile:commands"
DOCKERFILE = "dockerfile:commands"
YAML = "yaml_files:commands"
MARKDOWN = "markdown:commands"
RESTRUCTURED = "restructured:commands"
NOTEBOOK = "notebooks:commands"
PYTHON = "python_calls:commands"
DOCUMENTATION = frozenset({MARKDOWN, RESTRUCTURED})
JUSTFILE = "tasks:justfile"
TOX = "tasks:tox"
PYPROJECT = "tasks:pyproject"
SNAKEMAKE = "snakemake:commands"

# fmt: off
BY_NAME = {
    "makefile": MAKEFILE, "gnumakefile": MAKEFILE,
    "dockerfile": DOCKERFILE, "containerfile": DOCKERFILE,
    "justfile": JUSTFILE, ".justfile": JUSTFILE,
    "tox.ini": TOX,
    "snakefile": SNAKEMAKE,
    "pyproject.toml": PYPROJECT, "pixi.toml": PYPROJECT,
}
BY_SUFFIX = {
    ".sh": SHELL, ".bash": SHELL, ".zsh": SHELL, ".ksh": SHELL, ".slurm": SHELL,
    ".sbatch": SHELL, ".sub": SHELL, ".job": SHELL,
    ".mk": MAKEFILE, ".mak": MAKEFILE,
    ".dockerfile": DOCKERFILE, ".containerfile": DOCKERFILE,
    ".yml": YAML, ".yaml": YAML,
    ".md": MARKDOWN, ".mdx": MARKDOWN, ".markdown": MARKDOWN, ".mkd": MARKDOWN, ".qmd": MARKDOWN,
    ".rst": RESTRUCTURED, ".rest": RESTRUCTURED,
    ".ipynb": NOTEBOOK,
    ".py": PYTHON,
    ".just": JUSTFILE,
    ".smk": SNAKEMAKE, ".snakefile": SNAKEMAKE, ".snakemake": SNAKEMAKE,
}
# fmt: on
BY_BEGINNING = {
    "dockerfile.": DOCKERFILE,
    "dockerfile-": DOCKERFILE,
    "containerfile.": DOCKERFILE,
    "makefile.": MAKEFILE,
    "snakefile.": SNAKEMAKE,
    "snakefile_": SNAKEMAKE,
    "snakefile-": SNAKEMAKE,
}
_COMPILED = (".pyc", ".pyo")


def front_end(path: PurePath, head: bytes = b"") -> str | None:
    """The front end for a file, by its name or else by its first bytes; None if there is none."""
    return _by_name(path.name) or (SHELL if re.match(_SHEBANG, head[:200]) else None)


@cache
def _by_name(name: str) -> str | None:
    """The front end for a file of this name. It is asked for several times per file."""
    name = name.lower()
    if found := BY_NAME.get(name) or BY_SUFFIX.get(PurePath(name).suffix):
        return found
    if name.endswith(_COMPILED):
        return None
    return next((found for beginning, found in BY_BEGINNING.items() if name.startswith(beginning)), None)


def matters(data: bytes) -> bool:
    """Whether a file with these contents can start Python at all."""
    return any(needle in data for needle in NEEDLES)


def may_be_command(text: str) -> bool:
    """Whether a part of a file may start Python: a cell of a notebook, a docstring."""
    return any(word in text for word in ("python", "uv run", *LAUNCHERS))


def is_launch_file(path: PurePath, head: bytes = b"") -> bool:
    """Whether a file can only contain launch commands: it is of a known kind other than Python."""
    return front_end(path, head) not in (None, PYTHON)


def may_start(path: PurePath, data: bytes) -> bool:
    """Whether this file may contain a command that starts Python (a search of bytes)."""
    front = front_end(path, data)
    if front is None or not (matters(data) or (front == PYTHON and any(each.encode() in data for each in LAUNCHERS))):
        return False
    return front != PYTHON or re.search(PYTHON_STARTS.encode(), data if _calls(data) else _head(data)) is not None


def _calls(data: bytes) -> bool:
    return any(needle in data for needle in _CALLS)


def _head(data: bytes) -> bytes:
    ends = [end for each in _CODE if (end := data.find(each)) >= 0]
    return data[: min(ends, default=len(data))]


def limit_of(front: str) -> int:
    """The largest size in bytes of a file that is searched for launch commands."""
    return LARGEST_NOTEBOOK if front == NOTEBOOK else LARGEST


def too_large(front: str) -> str:
    """The remark for a file that is larger."""
    # Nothing else is checked in a notebook either.
    what = "" if front == NOTEBOOK else " for launch commands"
    return f"not looked at{what}: larger than {limit_of(front):,} bytes"


def unread(path: Path, most: int = MOST_SEARCHED) -> str | None:
    """The remark for a launch file that is too large to be read; "" if it can't start Python at all.

    None for a file that can be read. The text is searched piece by piece, up to `most` bytes.
    """
    size = files.size(path)
    front = front_end(path) if size > LARGEST else PYTHON
    if size > LARGEST and front is None:
        front = front_end(path, files.head(path, 200))
    if front in (None, PYTHON) or size <= limit_of(front):
        return None
    if size > most:
        return too_large(front)
    before = b""
    for piece in files.pieces(path, most):
        if matters(before + piece):
            return too_large(front)
        before = piece[-20:]
    return ""


def read(path: PurePath, data: bytes) -> Reading:
    """The commands of a file. Never raises: an unreadable file yields no commands, and a problem."""
    return _read_as(front_end(path, data) if matters(data) else None, data)


def all_commands(path: PurePath, data: bytes) -> tuple[Command, ...]:
    """The commands of a file, whether it can start Python or not; see `read`."""
    return _read_as(front_end(path, data), data).commands


def _read_as(front: str | None, data: bytes) -> Reading:
    if front is None:
        return Reading("", ())
    if len(data) > limit_of(front):
        return Reading("", (), too_large(front))
    if b"\0" in data:
        return Reading("", (), "not looked at for launch commands: a binary file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Reading("", (), "not looked at for launch commands: its text is not UTF-8")
    return _read(front, text)


def _read(front: str, text: str) -> Reading:
    from trl_lint.launch.commands.commands import Unreadable

    found: list[Command] = []
    try:
        found.extend(_load(front)(text))
    except Unreadable as error:
        return Reading(text, tuple(found), str(error))
    except RecursionError:
        return Reading(text, tuple(found), "not looked at for launch commands: nested too deeply")
    return Reading(text, tuple(found))


def _load(front: str) -> Callable[[str], Commands]:
    module, _, function = front.partition(":")
    read: Callable[[str], Commands] = getattr(importlib.import_module(f"trl_lint.launch.parsers.{module}"), function)
    return read
