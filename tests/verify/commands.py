"""The command `trl-lint verify`, in this process and in one that is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from processes import left, with_words

from trl_lint.frontends.cli import main
from trl_lint.verify.processes import forked_runs, launcher


def call(*args: str):
    try:
        runs = CliRunner(mix_stderr=False)
    except TypeError:  # click 8.2 and later never mix the streams
        runs = CliRunner()
    return runs.invoke(main, ["verify", *args])


def in_forks(server: Any, folder: Path, patch: Any) -> None:
    """Run jobs in forks of a process that has imported the libraries, without a launcher.

    `test_from_wheel.py` runs each mode of the command with launchers, and with the forks that follow a first run.
    """
    patch.setattr(forked_runs, "HAS_FORKS", False)  # its servers would import the libraries again for each rank
    patch.setattr(launcher, "run", lambda *args, **options: server(*args, **options, folder=folder))


TOOL = (sys.executable, "-m", "trl_lint")


def interrupted(
    folder: Path, script: str, ready: Callable[[], bool], tool: Sequence[str] = TOOL
) -> tuple[int, str, str]:
    """Run the command and send it Ctrl+C once `ready` holds: its exit code and its output. Nothing of it is left."""
    (folder / "train.py").write_text(script)
    command = [*tool, "verify", "--isolated", str(folder / "train.py")]
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not ready() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=300)
    assert not left(with_words(str(folder)))
    assert not list(folder.glob("trl-lint-*"))
    return process.returncode, out, said
