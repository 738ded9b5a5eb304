"""The advice after a proof: the command that applies the fixes which were run, and no others."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_runs import everything, well

from trl_lint.frontends.cli import main
from trl_lint.verify import cli
from trl_lint.verify.processes import launcher
from trl_lint.verify.record.traces import End, RankRecord, Run, SourcePlace

SAFE = """\
from accelerate import Accelerator

accelerator = Accelerator()


def total(rows):
    return accelerator.gather(rows.sum().item())
"""
# Its finding depends on a caller in another file.
CALLED = """\
from accelerate import Accelerator


def both(accelerator: Accelerator, is_main: bool):
    if is_main:
        accelerator.wait_for_everyone()
"""
CALLS = """\
from accelerate import Accelerator
from called import both

accelerator = Accelerator()
accelerator.wait_for_everyone()
both(accelerator, accelerator.is_main_process)
"""
# Nothing says whether all ranks get there together.
UNSAFE = """\
import torch
from accelerate import Accelerator


def total(rows, wanted):
    accelerator = Accelerator()
    if wanted:
        return accelerator.gather(rows.sum().item())
    return accelerator.gather(torch.ones(1))
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `trl-lint verify` in a new folder, where every program with a bug fails at its line 1 and the others pass."""
    monkeypatch.chdir(tmp_path)

    def made(launch, job, plain):
        if job.sources:
            return Run([well(0), well(1)])
        end = End(1.0, 1, "TypeError", "no", at=(SourcePlace(job.script, 1, "<module>"),))
        ranks = [RankRecord(n, world_size=2, end=end, exit=1) for n in range(2)]
        for rank in ranks:
            rank.executed = everything(tmp_path.rglob("*.py"))
        return Run([well(0, world_size=1)] if plain else ranks)

    monkeypatch.setattr(launcher, "run", lambda launch, job, *, plain: made(launch, job, plain))
    monkeypatch.setattr(cli, "_require", lambda *_: None)

    def call(*words):
        for name, text in FILES.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        done = CliRunner().invoke(main, ["verify", *words])
        assert done.exit_code == 1, done.output
        return done.output.splitlines()[-1]

    return call


FILES = {
    "train.py": SAFE,
    "unsafe.py": UNSAFE,
    "starts.py": "import calls\n",
    "calls.py": CALLS,
    "called.py": CALLED,
    "more/a.py": "",
    "more/b.py": "",
    "lib/__init__.py": "",
    "lib/helper.py": SAFE,
    "uses_lib.py": "import lib.helper\n",
    "with blank.py": SAFE,
    "own.toml": "[tool.trl-lint]\nunsafe-fixes = true\n",
}


def advised(said: str) -> list[str]:
    start, _, command = said.partition("passes when fixed: run `")
    assert start == "It fails as it is and ", said
    return shlex.split(command.removesuffix("`."))


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["train.py"], ["train.py"]),
        (["--select", "TRL001", "train.py"], ["--select", "TRL001", "train.py"]),
        (["--unsafe-fixes", "unsafe.py"], ["--unsafe-fixes", "unsafe.py"]),
        (["--no-unsafe-fixes", "train.py"], ["--no-unsafe-fixes", "train.py"]),
        (["--isolated", "train.py", "--steps", "2"], ["--isolated", "train.py"]),
        (["--config", "own.toml", "unsafe.py"], ["--config", "own.toml", "unsafe.py"]),
        (["with blank.py"], ["with blank.py"]),
        (["uses_lib.py"], ["uses_lib.py", "lib/helper.py"]),
        (["--include", "lib", "train.py"], ["train.py", "lib/helper.py"]),
        (
            ["--unsafe-fixes", "--select", "TRL006", "starts.py"],
            ["--unsafe-fixes", "--select", "TRL006", "starts.py", "called.py"],
        ),
        (
            ["--include", "more", "--unsafe-fixes", "--select", "TRL006", "starts.py"],
            ["--unsafe-fixes", "--select", "TRL006", "starts.py", "called.py"],
        ),
    ],
)
def test_the_command_has_the_options_of_the_run(run, words, command):
    assert advised(run(*words)) == ["trl-lint", "--fix", *command]


@pytest.mark.parametrize(
    "words",
    [
        ["train.py"],
        ["--unsafe-fixes", "unsafe.py"],
        ["--unsafe-fixes", "--select", "TRL006", "starts.py"],
        ["uses_lib.py"],
        ["--include", "lib", "train.py"],
    ],
)
def test_the_command_makes_the_fixes_that_were_run(run, tmp_path, words, monkeypatch):
    kept = tmp_path / "kept"
    command = advised(run("--keep", str(kept), *words))
    copies = kept / "fixed" / tmp_path.relative_to(tmp_path.anchor)
    proven = {path.relative_to(copies): path.read_text() for path in copies.rglob("*.py")}
    shutil.rmtree(kept)
    CliRunner().invoke(main, command[1:])
    changed = {path for path in map(Path, FILES) if path.suffix == ".py" and path.read_text() != FILES[str(path)]}
    assert {path: path.read_text() for path in changed} == proven and proven
