"""The entry point of `trl-lint` and `python -m trl_lint`: interrupts are handled before anything is imported."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

# What a command imports and reads stays until its end: searching it for garbage every 700 objects finds nothing.
_OBJECTS = 50_000


def main() -> NoReturn:
    """Run the command line."""
    gc.set_threshold(_OBJECTS)
    try:
        from trl_lint.linter import ending
    except KeyboardInterrupt:
        os.write(2, b"trl-lint: interrupted\n")
        os._exit(130)
    ending.install_signal_handlers()
    try:
        from trl_lint.frontends.cli import main as command

        command()
    except KeyboardInterrupt:  # from a command that has ended the processes it had started
        ending.interrupted()
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{ending.missing_package_message(error)}\n")
        sys.exit(2)
    finally:
        ending.install_signal_handlers()  # the interpreter still has to shut down
        gc.freeze()  # and need not search what it throws away anyway
    raise AssertionError("a command ends in SystemExit")


if __name__ == "__main__":
    main()
