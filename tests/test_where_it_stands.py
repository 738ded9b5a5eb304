"""Findings depend on what is linted, and not on the folder in which the linter is started."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from trl_lint.frontends.cli import main

FIXTURES = Path(__file__).parents[1] / "fixtures"
TRAINER = "from trl import SFTTrainer\ntrainer = SFTTrainer('tiny')\ntrainer.train()\n"
TWO = "export CUDA_VISIBLE_DEVICES=0,1\n"
HELPER = "def total(accelerator, batch):\n    return batch['x'].sum().item()\n"
USES_HELPER = """from accelerate import Accelerator
from lib.sums import total

accelerator = Accelerator()


def train(loader):
    for batch in accelerator.prepare(loader):
        accelerator.gather(total(accelerator, batch))
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def rows(*args: str) -> list[dict]:
    return json.loads(CliRunner().invoke(main, ["--output-format=json", *args]).stdout)


def from_everywhere(monkeypatch, tree: Path, named: str) -> Iterator[list[dict]]:
    """The findings under a path of a tree, from its folders, another folder and the root, in both spellings."""
    (tree.parent / "stranger").mkdir()
    for folder in (tree, tree / "scripts", tree.parent, tree.parent / "stranger", Path("/")):
        monkeypatch.chdir(folder)
        yield rows(str(tree / named))
        yield rows(os.path.relpath(tree / named))


PROJECT = {
    "train.py": TRAINER,
    "scripts/run.sh": TWO + "python train.py\n",
    "scripts/near.py": TRAINER,
    "scripts/near.sh": TWO + "python near.py\n",
    "lib/sums.py": HELPER,
    "scripts/uses.py": USES_HELPER,
    "stray.sh": TWO + "python tree/train.py\n",
}
ALL_OF_IT = [("near.sh", "TRL004"), ("run.sh", "TRL004"), ("uses.py", "TRL001")]


@pytest.mark.parametrize(
    ("mark", "named", "expected"),
    [
        ("", ".", ALL_OF_IT),
        # If nothing defines the project, it is the path that was given.
        ("", "scripts", [("near.sh", "TRL004")]),
        ("", "scripts/run.sh", []),
        ("", "scripts/near.sh", [("near.sh", "TRL004")]),
        (".git/HEAD", "scripts", ALL_OF_IT),
        ("pyproject.toml", "scripts", ALL_OF_IT),
        (".git/HEAD", "scripts/run.sh", [("run.sh", "TRL004")]),
        ("pyproject.toml", "scripts/uses.py", [("uses.py", "TRL001")]),
    ],
)
def test_the_same_is_found_from_everywhere(tmp_path, monkeypatch, mark, named, expected):
    tree = tmp_path / "tree"
    write(tree, PROJECT | ({mark: ""} if mark else {}))
    for found in from_everywhere(monkeypatch, tree, named):
        assert sorted((Path(row["filename"]).name, row["code"]) for row in found) == expected


def test_a_settings_file_from_elsewhere_does_not_move_the_project(tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    write(tree, PROJECT | {".git/HEAD": ""})
    write(tmp_path, {"house.toml": "[tool.trl-lint]\nselect = ['TRL004']\n", "stranger/train.py": "x = 1\n"})
    for folder in (tree, tmp_path, tmp_path / "stranger"):
        monkeypatch.chdir(folder)
        found = rows("--config", str(tmp_path / "house.toml"), str(tree / "scripts"))
        assert [Path(row["filename"]).name for row in found] == ["near.sh", "run.sh"]


def test_several_paths_share_a_project(tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    write(tree, PROJECT)
    for folder in (tree, tree / "scripts", Path("/")):
        monkeypatch.chdir(folder)
        found = rows(str(tree / "scripts" / "run.sh"), str(tree / "train.py"), str(tree / "scripts" / "uses.py"))
        assert sorted(row["code"] for row in found) == ["TRL001", "TRL004"]


def test_findings_of_other_rules_are_the_same_to_the_last_word(tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    without_findings = shutil.ignore_patterns("__pycache__", "fixed*", "quiet*")
    for name in ("bare_python_launch", "ragged_gather", "unguarded_side_effect"):
        shutil.copytree(FIXTURES / name, tree / name, ignore=without_findings)
    (tree / "scripts").mkdir()
    first, *others = from_everywhere(monkeypatch, tree, ".")
    assert {row["code"] for row in first} >= {"TRL004", "TRL005", "TRL008"}
    assert all(other == first for other in others)
