"""Rules ignored by file: neither reported nor fixed there, whichever file the finding comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from trl_lint.frontends.cli import main

LOOP = """\
from accelerate import Accelerator


def main(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.log({"loss": loss.item()})
        total = accelerator.gather(loss.sum().item())
"""
HELPER = """\
from accelerate import Accelerator


def show(accelerator: Accelerator, value):
    accelerator.log({"mean": value.float().mean().item()})
"""
CALLER = LOOP.replace("from acc", "from helper import show\nfrom acc", 1) + "        show(accelerator, loss)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def settings(folder: Path, ignores: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.trl-lint]\nper-file-ignores = {ignores}\n")


def found(folder: Path, *arguments: str, **given) -> list[str]:
    done = CliRunner().invoke(main, ["--output-format=json", *arguments], **given)
    rows = json.loads(done.stdout)
    assert done.exit_code == bool(rows)
    return [f"{Path(row['filename']).relative_to(folder).as_posix()} {row['code']}" for row in rows]


def test_other_files_are_reported_as_ever(folder):
    put(folder, train=LOOP, tests__loop=LOOP)
    every = ["tests/loop.py TRL003", "tests/loop.py TRL001", "train.py TRL003", "train.py TRL001"]
    assert found(folder) == every
    settings(folder, '{ "tests/**" = ["TRL003"] }')
    assert found(folder) == every[1:]
    settings(folder, '{ "tests/**" = ["TRL003"], "train.py" = ["ALL"] }')
    assert found(folder) == every[1:2]
    assert found(folder, "--isolated") == every


def test_the_option_stands_in_place_of_the_setting(folder):
    put(folder, train=LOOP, other=LOOP)
    settings(folder, '{ "train.py" = ["ALL"] }')
    assert found(folder, "--per-file-ignores", "train.py:TRL001,other.py:ALL") == ["train.py TRL003"]
    twice = ["--per-file-ignores", "train.py:TRL001", "--per-file-ignores=train.py:unreduced-metric"]
    assert found(folder, *twice) == ["other.py TRL003", "other.py TRL001"]


def test_what_another_file_finds_in_one_is_left_out_too(folder):
    put(folder, caller=CALLER, helper=HELPER)
    assert "helper.py TRL003" in found(folder)
    settings(folder, '{ "helper.py" = ["TRL003"] }')
    assert found(folder) == ["caller.py TRL003", "caller.py TRL001"]


def test_what_is_left_out_is_not_fixed(folder):
    put(folder, train=LOOP, old=LOOP)
    settings(folder, '{ "old.py" = ["TRL001"] }')
    CliRunner().invoke(main, ["--fix"])
    kept = "accelerator.gather(loss.sum().item())"
    assert kept in (folder / "old.py").read_text()
    assert kept not in (folder / "train.py").read_text()
    assert (folder / "old.py").read_text() != LOOP  # TRL003 is not ignored


def test_standard_input_goes_by_its_name(folder):
    settings(folder, '{ "old.py" = ["ALL"] }')
    assert found(folder, "-", "--stdin-filename=old.py", input=LOOP) == []
    assert found(folder, "-", "--stdin-filename=new.py", input=LOOP) == ["new.py TRL003", "new.py TRL001"]


def test_patterns_are_relative_to_the_project_wherever_one_stands(folder, monkeypatch):
    put(folder, tests__loop=LOOP)
    settings(folder, '{ "tests/*" = ["ALL"] }')
    monkeypatch.chdir(folder / "tests")
    assert found(folder) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--per-file-ignores=tests/*"], "`tests/*` is not PATTERN:CODE"),
        (["--per-file-ignores=:TRL001"], "`:TRL001` is not PATTERN:CODE"),
        (["--per-file-ignores=tests/*:TRL003X"], "unknown rule `TRL003X`; did you mean `TRL003`?"),
    ],
)
def test_what_can_not_be_acted_on_is_said(folder, arguments, said):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert said in done.output
