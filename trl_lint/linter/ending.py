"""How the process ends when somebody ends it: with one line, its exit code, and nothing left behind.

An interrupt may come at any moment: while modules are imported, in the middle of a parser, or when all is done and the
interpreter takes itself down. Raised as an exception there it is a traceback, or is swallowed. So it ends the process
where it stands, but for commands that have processes of their own to end first (`raise_from_here`).
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
SAID = "trl-lint: interrupted"

# Files that are being written and are to be gone if they are not finished.
unfinished: set[str] = set()
# What takes a line that is only half written off the terminal; "" where there is none.
clears = ""


def take_signals() -> None:
    """Be told of what would end the process, unless somebody else wants to be or it is to be ignored."""
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        with suppress(ValueError):  # not in the main thread
            if signal.getsignal(number) in (default, _end):
                signal.signal(number, _end)


def raise_from_here() -> None:
    """Let an interrupt be an exception from now on."""
    with suppress(ValueError):
        if signal.getsignal(signal.SIGINT) is _end:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def interrupted() -> NoReturn:
    """End at once, as after an interrupt."""
    _leave(f"{SAID}\n", INTERRUPTED)


def lacks(error: ModuleNotFoundError) -> str:
    """The line that says which package is missing: somebody has installed trl-lint without what it depends on."""
    return f"trl-lint: cannot run: `{error.name}` is not installed; to install trl-lint again brings it"


def _end(number: int, frame: FrameType | None) -> None:
    _remove_unfinished()
    if number == signal.SIGINT:
        interrupted()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)  # whoever waits for the process sees what ended it
    _leave("", 128 + number)


def _remove_unfinished() -> None:
    for path in list(unfinished):
        with suppress(OSError):
            os.unlink(path)


def _leave(said: str, status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # one that is in the middle of writing can't be asked
            stream.flush()
    with suppress(OSError):
        os.write(2, f"{clears}{said}".encode())
    os._exit(status)
