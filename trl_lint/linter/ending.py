"""How the process ends when it is interrupted: with one line, its exit code, and no files left behind.

An interrupt may come at any moment: during imports, in the middle of a parser, or while the interpreter shuts down. As
an exception it would show a traceback there, or be swallowed. So the process ends at once, except in commands that must
first end processes of their own (`raise_from_here`).
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
MESSAGE = "trl-lint: interrupted"

# Files being written, to be removed if they are not finished.
unfinished: set[str] = set()
# Clears a half-written line from the terminal; "" if there is none.
clears = ""


def install_signal_handlers() -> None:
    """Handle the signals that end the process, unless they are handled already or ignored."""
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        with suppress(ValueError):  # not in the main thread
            if signal.getsignal(number) in (default, _end):
                signal.signal(number, _end)


def raise_from_here() -> None:
    """Let an interrupt raise an exception from now on."""
    with suppress(ValueError):
        if signal.getsignal(signal.SIGINT) is _end:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def interrupted() -> NoReturn:
    """End at once, as after an interrupt."""
    _exit(f"{MESSAGE}\n", INTERRUPTED)


def missing_package_message(error: ModuleNotFoundError) -> str:
    """The line that says which package is missing, if trl-lint was installed without its dependencies."""
    return f"trl-lint: cannot run: `{error.name}` is not installed; reinstall trl-lint to get it"


def _end(number: int, frame: FrameType | None) -> None:
    _remove_unfinished()
    if number == signal.SIGINT:
        interrupted()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)  # the parent process sees which signal ended this one
    _exit("", 128 + number)


def _remove_unfinished() -> None:
    for path in list(unfinished):
        with suppress(OSError):
            os.unlink(path)


def _exit(message: str, status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a stream that is being written to cannot be flushed
            stream.flush()
    with suppress(OSError):
        os.write(2, f"{clears}{message}".encode())
    os._exit(status)
