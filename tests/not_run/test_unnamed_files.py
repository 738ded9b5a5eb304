"""Findings in a file of definitions that nothing imports, beside a program that imports others, are not by default."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_trainer import TRAINER

from trl_lint import api
from trl_lint.settings import Settings

LOADS = "import torch.distributed as dist\n"
STARTED = "if __name__ == '__main__':\n    dist.init_process_group()\n    margin()\n"
PROGRAM = f"{LOADS}import configs\nfrom losses import margin\n\n{STARTED}"
LOSSES = f"{LOADS}\ndef margin():\n    dist.barrier()\n"
USED = {"train.py": PROGRAM, "losses.py": LOSSES}
BY_NAME = "import importlib\n\ndef load(name):\n    return importlib.import_module({})\n"


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        (USED, False),
        (USED | {"sub/__init__.py": ""}, False),
        (USED | {"notes.py": "# see own.py\nimport losses\n"}, False),
        (USED | {"configs.py": BY_NAME.format("name")}, False),  # a whole name, which no file says
        ({}, True),
        ({"train.py": LOSSES}, True),  # no program
        (
            {"train.py": "def margin():\n    return 1\n\nif __name__ == '__main__':\n    margin()\n"},
            True,
        ),  # imports none
        (USED | {"more.py": "import own\n"}, True),
        (USED | {"train.yaml": "model:\n  _target_: own.OwnTrainer\n"}, True),
        (USED | {"configs.py": "TRAINERS = {'own': 'own.OwnTrainer'}\n"}, True),
        (USED | {"configs.py": "def build(module):\n    return module.own\n"}, True),
        (USED | {"configs.py": BY_NAME.format("f'trainers.{name}'")}, True),
        (USED | {"configs.py": BY_NAME.format("'trainers.' + name")}, True),
        (USED | {"configs.py": BY_NAME.format("name") + "\n\nFILES = '*.py'\n"}, True),  # each file of a folder
        (USED | {"configs.py": "import pkgutil\n\nNAMES = list(pkgutil.iter_modules(['.']))\n"}, True),
    ],
)
def test_what_nothing_imports_is_asked_for(files: dict[str, str], by_default: bool, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert _is_default(files, TRAINER, tmp_path) is by_default


@pytest.mark.parametrize(
    "text",
    [
        f"{TRAINER}\n\nprint(OwnTrainer)\n",  # a script
        f"{TRAINER}\n\nfor each in [OwnTrainer]:\n    each()\n",
        f"import registry\n\n\n{TRAINER.replace('class Own', '@registry.add' + chr(10) + 'class Own')}",
    ],
)
def test_what_runs_by_itself_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert _is_default(USED, text, tmp_path)


def test_the_files_of_a_package_that_is_installed_are_used_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert _is_default(USED | {"__init__.py": ""}, TRAINER, tmp_path)


def _is_default(files: dict[str, str], text: str, folder: Path) -> bool:
    for name, content in {**files, "own.py": text}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    found = api.check(folder, Settings(root=folder, select=("ALL",)))
    (only,) = {each.by_default for each in found if each.path.endswith("own.py")}
    return only
