"""What every command says to the terminal, and how it ends."""

from __future__ import annotations

import errno
import os
import sys
from typing import NoReturn, TextIO

import click

from trl_lint import plain

# Exit codes: nothing left to report, findings, and what could not be done.
CLEAN, FINDINGS, FAILED = 0, 1, 2


def stand_in_for_closed_streams() -> None:
    """Without a stream (`>&-`) what goes there is lost, as nobody wants it; no file may take the stream's number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if name != "stdin":
                setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))


def is_full(error: Exception) -> bool:
    """Whether there is no room for what goes to a stream, which has no name as files have."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None


def say(text: str) -> None:
    """One line on standard error, whatever characters the names in it have."""
    click.echo(plain.line(text), err=True)


def fail(message: str) -> NoReturn:
    say(f"trl-lint: {message}")
    sys.exit(FAILED)


def wants_colour(out: TextIO, choice: str = "auto") -> bool:
    """Whether a stream gets colour: what the command line chooses, else what the environment asks for."""
    if choice != "auto":
        return choice == "always"
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
