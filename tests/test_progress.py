"""The progress of a long run: shown on a terminal after a while, and cleared before any other output."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

from trl_lint.frontends.progress import Progress
from trl_lint.linter import ending

BROKEN = "from accelerate import Accelerator\n\nAccelerator().gather(loss.item())\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_is_told_and_gone_with_the_first_result() -> None:
    out = Terminal()
    progress = Progress(out, wait=0)
    progress.update(1, 3)
    assert out.getvalue().endswith("analysed 1 of 3 files")
    assert ending.clears
    assert list(progress.ends_with(["a", "b"])) == ["a", "b"]
    assert out.getvalue().endswith("\r\x1b[K")
    assert not ending.clears


def test_a_short_run_and_a_pipe_are_told_nothing() -> None:
    short, pipe = Terminal(), io.StringIO()
    Progress(short, wait=60).update(1, 3)
    Progress(pipe, wait=0).update(1, 3)
    assert (short.getvalue(), pipe.getvalue()) == ("", "")


def test_a_terminal_sees_it_and_standard_output_is_clean(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    script = "import trl_lint.frontends.progress as p; p.SECONDS = 0; p.Progress.__init__.__kwdefaults__['wait'] = 0\n"
    script += "from trl_lint.frontends.cli import main; main()"
    controller, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache", "."],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        check=False,
    )
    os.close(terminal)
    assert os.read(controller, 1000) == b"\r\x1b[Kanalysed 0 of 1 files\r\x1b[K"
    os.close(controller)
    assert done.stdout.startswith("train.py:3:1: TRL001")
