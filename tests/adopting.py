"""What the tests of `--add-noqa` and of baselines share: a command line, and programs with bugs."""

from __future__ import annotations

import ast
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from trl_lint.frontends.cli import main

ROOT = str(Path(__file__).parents[1])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from evaluation.releases import IndexUnreachable, Release, fetch  # noqa: E402

HEAD = """\
from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
"""
BUG = 'self.log({"shard/loss": loss.detach().mean()})'
PROGRAM = f"{HEAD}        {BUG}\n        return loss\n"


class Said(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.out.splitlines()[-1] if self.out else ""


def run(*args: str | Path) -> Said:
    """Run `trl-lint --no-cache` with these arguments in this process; the output is text unless they say otherwise."""
    chosen = any(str(each).startswith("--output-format") for each in args)
    try:
        runs = CliRunner(mix_stderr=False)
    except TypeError:  # click 8.2 and later never mix the streams
        runs = CliRunner()
    done = runs.invoke(main, ["check", "--no-cache", *["--output-format=text"] * (not chosen), *map(str, args)])
    return Said(done.exit_code, done.stdout, done.stderr)


def places(*args: str | Path) -> list[str]:
    """`path:line:column: code` of each finding that is shown."""
    lines = run("--output-format=concise", *args).out.splitlines()
    return [line.partition(" [")[0] for line in lines if ": TRL" in line]


def released_trl(folder: Path) -> Path:
    """A copy of trl 0.13.0 that may be changed, with settings for the releases of its time in the folder above."""
    targets = 'target-trl = "0.13.0"\ntarget-transformers = "4.47.1"\n'
    (folder / "trl-lint.toml").write_text(targets, encoding="utf-8")
    try:
        return shutil.copytree(fetch(Release("trl", "0.13.0")), folder / "release")
    except IndexUnreachable as error:
        pytest.skip(str(error))


def with_method_last(path: Path, name: str) -> None:
    """Move a method to the end of its class."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    classes = [each for each in ast.parse(text).body if isinstance(each, ast.ClassDef)]
    (kind, method) = next(
        (kind, each)
        for kind in classes
        for each in kind.body
        if isinstance(each, ast.FunctionDef) and each.name == name
    )
    first = min([method.lineno, *(each.lineno for each in method.decorator_list)]) - 1
    moved = lines[first : method.end_lineno]
    end = kind.end_lineno
    path.write_text(
        "".join([*lines[:first], *lines[method.end_lineno : end], "\n", *moved, *lines[end:]]), encoding="utf-8"
    )
