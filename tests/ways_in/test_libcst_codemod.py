"""`python -m libcst.tool codemod` with our commands, in a folder without any LibCST configuration."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from forks import module
from samples import BASE, BROKEN, FIXTURES, MINE, unmarked

Start = Callable[..., subprocess.CompletedProcess[str]]


def process(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a separate process, as users do."""
    return subprocess.run([sys.executable, "-m", *args], cwd=folder, capture_output=True, text=True, check=False)


def codemod(folder: Path, rule: str, *paths: str, start: Start = module) -> str:
    """Run the command of a rule on files or folders; return LibCST's output."""
    command = f"trl_lint.codemods.{rule.title().replace('_', '')}Command"
    done = start("libcst.tool", "codemod", "-x", command, "--no-format", *paths, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr


# The rules whose findings a rule's fixes reveal; `--fix` continues until none is left.
BROUGHT_TO_LIGHT = {"item_before_gather": ("truncated_gather",)}


@pytest.mark.parametrize("rule", sorted(BROKEN))
def test_a_command_makes_of_a_fixture_what_fix_makes(tmp_path, rule):
    path = tmp_path / "train.py"
    path.write_text(unmarked(BROKEN[rule]), encoding="utf-8")
    fixed = (FIXTURES / rule / "fixed.py").read_text(encoding="utf-8")
    for _ in range(2):  # the second run changes nothing
        for command in (rule, *BROUGHT_TO_LIGHT.get(rule, ())):
            codemod(tmp_path, command, "train.py")
        assert path.read_text(encoding="utf-8") == fixed


@pytest.mark.parametrize("rule", sorted(BROKEN))
def test_a_command_mends_its_own_rule_only(tmp_path, rule):
    for name, text in BROKEN.items():
        (tmp_path / f"{name}.py").write_text(unmarked(text), encoding="utf-8")
    codemod(tmp_path, rule, ".")
    for name, text in BROKEN.items():
        changed = (tmp_path / f"{name}.py").read_text(encoding="utf-8") != unmarked(text)
        assert changed == (name == rule)


def test_a_base_class_in_another_file_counts(tmp_path):
    (tmp_path / "base.py").write_text(BASE, encoding="utf-8")
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    codemod(tmp_path, "unreduced_metric", "mine.py", start=process)
    mended = MINE.replace("loss.item()", "self.accelerator.gather(loss).mean().item()")
    assert (tmp_path / "mine.py").read_text(encoding="utf-8") == mended
    assert (tmp_path / "base.py").read_text(encoding="utf-8") == BASE


def test_what_a_comment_silences_is_left_alone(tmp_path):
    text = MINE.replace("loss.item())", "loss.item())  # noqa: TRL003")
    (tmp_path / "base.py").write_text(BASE, encoding="utf-8")
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    codemod(tmp_path, "unreduced_metric", "mine.py")
    assert (tmp_path / "mine.py").read_text(encoding="utf-8") == text


def test_the_settings_of_the_folder_hold(tmp_path):
    (tmp_path / "base.py").write_text(BASE, encoding="utf-8")
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    settings = "[tool.trl-lint]\nper-file-ignores = { 'mine.py' = ['TRL003'] }\n"
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    codemod(tmp_path, "unreduced_metric", "mine.py")
    assert (tmp_path / "mine.py").read_text(encoding="utf-8") == MINE
