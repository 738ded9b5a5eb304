"""What the tests of the launch package share."""

from __future__ import annotations

from pathlib import PurePath

from trl_lint.launch.commands.commands import Command
from trl_lint.launch.judge.python_invocation import Start, bare_start, own_launcher
from trl_lint.launch.parsers import readers
from trl_lint.launch.rewrite import applied, rewrite


def commands(text: str, name: str = "x.sh") -> list[Command]:
    reading = readers.read(PurePath(name), text.encode())
    assert not reading.problem
    return list(reading.commands)


def starts(text: str, name: str = "x.sh") -> list[Start]:
    return [start for each in commands(text, name) if (start := bare_start(each))]


def only_start(text: str, name: str = "x.sh") -> Start:
    (start,) = starts(text, name)
    return start


def launchers(text: str, name: str = "x.sh") -> list[str]:
    return [found.name for each in commands(text, name) if (found := own_launcher(each))]


def rewritten(text: str, name: str = "x.sh") -> str | None:
    """The text with every start rewritten, None if one can't be."""
    plans = [rewrite(each, text) for each in starts(text, name)]
    if not plans or None in plans:
        return None
    return applied(text, sorted({edit for plan in plans for edit in plan or ()}, key=lambda edit: edit.start))
