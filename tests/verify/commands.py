"""The command `trl-lint verify` in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from click.testing import CliRunner

from trl_lint.frontends.cli import main
from trl_lint.verify.processes import launcher


def call(*args: str):
    try:
        runs = CliRunner(mix_stderr=False)
    except TypeError:  # click 8.2 and later never mix the streams
        runs = CliRunner()
    return runs.invoke(main, ["verify", *args])


def in_forks(server: Any, folder: Path, patch: Any) -> None:
    """Have what is asked for run in forks of a process that has imported the libraries, without a launcher.

    With launchers, each way to call the command is tried in `test_from_wheel.py`.
    """
    patch.setattr(launcher, "run", lambda *args, **options: server(*args, **options, folder=folder))
