"""The verdict on a package does not depend on its location: alone, or next to the libraries that it imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.analysis.program.project.project import Project
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

SETTINGS = Settings(target_trl="0.17.0", target_transformers="4.51.3")
TRAINER = """\
import numpy as np
import torch
import torch.nn.functional as F
from transformers import Trainer

from mine.numbers import halved


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        both = torch.cat([outputs.logits[:, 0], outputs.logits[:, 1]])
        self.log({"torch": both.mean().item()})
        self.log({"functional": F.softmax(outputs.logits, -1).mean().item()})
        self.log({"numpy": float(np.mean(outputs.logits.detach().cpu().numpy()))})
        self.log({"own": halved(outputs.logits).mean().item()})
        return (loss, outputs) if return_outputs else loss
"""
MINE = {
    "mine/__init__.py": "",
    "mine/numbers.py": "def halved(values):\n    return values / 2\n",
    "mine/trainer.py": TRAINER,
}
LOGGED = ["torch", "functional", "numpy", "own"]
# Their files contain less than the tables: the code is compiled, or created on import.
EMPTY = {f"{name}/__init__.py": "" for name in ("torch", "numpy")}
# It logs as well: a file that can't have a finding is not linted.
SHARED = {"shared/__init__.py": "import wandb\n\n\ndef kept(values):\n    wandb.log({})\n    return values\n"}
USES_SHARED = TRAINER.replace("mine.numbers import halved", "shared import kept as halved")


def logged(root: Path, files: dict[str, str], *linted: str) -> list[str]:
    """The unreduced values that are found in `mine/trainer.py`, linted together with these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    linter = Linter(SETTINGS, (root,), (find_rule("TRL003"),))
    trainer = root / "mine" / "trainer.py"
    contents = [(path, path.read_bytes()) for path in (trainer, *(root / name for name in linted))]
    linter.prepare(contents)
    lines = files["mine/trainer.py"].splitlines()
    places = (each for finding in linter.check(*contents[0]) for each in (finding, *finding.also))
    return [lines[each.start.line - 1].split('"')[1] for each in places]


def test_alone(tmp_path):
    assert logged(tmp_path, MINE) == LOGGED


def test_torch_is_never_read(tmp_path):
    """An empty file of that name would make all its functions unknown."""
    files = {"torch/__init__.py": "", "torch/nn/__init__.py": "", "torch/nn/functional.py": ""}
    assert logged(tmp_path, MINE | files) == LOGGED


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_what_is_installed_beside_is_not_read(tmp_path, folder):
    root = tmp_path / folder
    assert logged(root, MINE | EMPTY | {"transformers/__init__.py": "class Trainer:\n    pass\n"}) == LOGGED


def test_packages_that_are_linted_together_see_each_other_where_they_are_installed(tmp_path):
    root = tmp_path / "site-packages"
    files = MINE | EMPTY | SHARED | {"mine/trainer.py": USES_SHARED}
    assert logged(root, files, "shared/__init__.py") == LOGGED
    assert logged(root, files) == LOGGED[:-1]  # as without `shared`


def test_a_module_that_is_one_file_is_a_package_too(tmp_path):
    root = tmp_path / "site-packages"
    files = MINE | {"shared.py": SHARED["shared/__init__.py"], "mine/trainer.py": USES_SHARED}
    assert logged(root, files, "shared.py") == LOGGED


def test_a_project_may_have_a_package_that_bears_a_librarys_name(tmp_path):
    files = {"datasets/__init__.py": "def kept(values):\n    return values\n"}
    uses = TRAINER.replace("mine.numbers import halved", "datasets import kept as halved")
    assert logged(tmp_path, MINE | files | {"mine/trainer.py": uses}) == LOGGED


@pytest.mark.parametrize(("name", "is_own"), [("composer", False), ("logging", False), ("evaluate", True), ("x", True)])
def test_an_import_in_a_package_means_the_library_of_that_name(name, is_own, tmp_path):
    """`mine/composer.py` is `mine.composer`; `evaluate.py` may be next to a script, whatever package that is in."""
    (tmp_path / "mine").mkdir()
    for file in ("__init__", name, "train"):
        (tmp_path / "mine" / f"{file}.py").touch()
    found = Project((tmp_path,)).find_from(name, tmp_path / "mine" / "train.py")
    assert found == (tmp_path / "mine" / f"{name}.py" if is_own else None)


def test_a_file_beside_in_a_package_is_no_library(tmp_path):
    """`mine/transformers.py` is `mine.transformers`, and nothing else."""
    own = {"mine/transformers.py": "class Trainer:\n    def compute_loss(self, *args):\n        return 1, None\n"}
    assert logged(tmp_path, MINE | own) == LOGGED
    from_own = TRAINER.replace("from transformers import", "from mine.transformers import")
    assert logged(tmp_path, MINE | own | {"mine/trainer.py": from_own}) == []
