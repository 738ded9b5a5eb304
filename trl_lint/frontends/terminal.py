"""Messages to the terminal, and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from typing import NoReturn, TextIO

import click

from trl_lint import plain

# Exit codes: nothing left to report, findings, failures.
CLEAN, FINDINGS, FAILED = 0, 1, 2


def replace_closed_streams() -> None:
    """Replace a closed stream (`>&-`) by one that discards its output, so that no file gets the stream's number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if name != "stdin":
                setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))


def is_full(error: Exception) -> bool:
    """Whether a stream has no space left; errors of files have a name."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None


def say(text: str) -> None:
    """Print one line on standard error; unprintable characters are escaped."""
    click.echo(plain.line(text), err=True)


def fail(message: str) -> NoReturn:
    say(f"trl-lint: {message}")
    sys.exit(FAILED)


def wants_colour(out: TextIO, choice: str = "auto") -> bool:
    """Whether a stream gets colour: as chosen on the command line, otherwise according to the environment."""
    if choice != "auto":
        return choice == "always"
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
