"""What a LightningModule logs is not reported by default where nothing has Lightning run it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from small_projects import found, written

from trl_lint import api
from trl_lint.frontends.cli import main
from trl_lint.linter.execution import lightning_trees
from trl_lint.settings import Settings

MODULE = """\
import pytorch_lightning as pl
import torch.distributed as dist
from torch.nn.functional import mse_loss


class AutoEncoder(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        return mse_loss(self(batch), batch)

    def validation_step(self, batch, batch_idx):
        self.log("val/loss", mse_loss(self(batch), batch))

    def seed(self):
        return dist.get_rank() if dist.is_initialized() else self.global_rank
"""
# It trains another model, with the first one as a part.
SOLVER = """\
import torch

from models.autoencoder import AutoEncoder


def train(model, batches, optimizer):
    codes = AutoEncoder()
    for batch in batches:
        loss = model(codes(batch)).mean()
        loss.backward()
        optimizer.step()
"""
SAMPLER = """\
from models.autoencoder import AutoEncoder

if __name__ == "__main__":
    print(AutoEncoder()(1))
"""
# Its trainer is a file of the project, with functions for other models.
PRUNER = """\
import trainer  # ours

if __name__ == "__main__":
    trainer.validate(1, 2)
"""
FINDING = [("models/autoencoder.py", 11, "TRL003")]


def in_project(tmp_path, files: dict[str, str]) -> list[tuple[str, int, str]]:
    return found(written(tmp_path, {"models/autoencoder.py": MODULE, **files}))


@pytest.mark.parametrize("program", [{"solver.py": SOLVER}, {"sample.py": SAMPLER}, {"prune.py": PRUNER}])
def test_a_module_that_is_only_called(tmp_path, program):
    assert in_project(tmp_path, program) == []
    asked = api.check([tmp_path], Settings(root=tmp_path, select=("TRL003",)))
    assert [(each.start.line, each.code, each.by_default) for each in asked] == [(11, "TRL003", False)]


@pytest.mark.parametrize(
    "runs",
    [
        {"train.py": "import pytorch_lightning as pl\n\npl.Trainer(devices=2)\n"},
        {"train.py": "from models.fitting import make_trainer\n\nmake_trainer().fit(None)\n"},
        {"train.py": "from fitting import trainer\n\ntrainer.validate(None)\n"},
        {"train.py": "from anomalib.engine import Engine\n\nengine = Engine()\nengine.fit(None)\n"},
        {"conf/trainer.yaml": "_target_: pytorch_lightning.Trainer\ndevices: 2\n"},
        {"tests/test_training.py": "from lightning.pytorch import Trainer\n"},
        {"examples/requirements.txt": "", "examples/fit.py": "from pytorch_lightning.cli import LightningCLI\n"},
        {"train.ipynb": '{"cells": [{"source": ["from pytorch_lightning import Trainer"]}]}'},
        {"README.md": "```python\nfrom lightning import Trainer\n```\n"},
        {"run.sh": "lightning run model train.py\n"},
    ],
)
def test_a_module_that_something_trains(tmp_path, runs):
    assert in_project(tmp_path, {"solver.py": SOLVER, **runs}) == FINDING


def test_a_library_that_runs_nothing(tmp_path):
    assert in_project(tmp_path, {"models/__init__.py": "from models.autoencoder import AutoEncoder\n"}) == FINDING


def test_too_many_files_to_read(tmp_path, monkeypatch):
    monkeypatch.setattr(lightning_trees, "MOST_FILES", 1)
    assert in_project(tmp_path, {"solver.py": SOLVER}) == FINDING


def test_a_training_that_is_added(tmp_path, monkeypatch):
    """The stored result of a run does not hold any more, wherever it is added."""
    monkeypatch.setenv("TRL_LINT_CACHE_DIR", str(tmp_path / ".trl_lint_cache"))
    monkeypatch.chdir(written(tmp_path, {"models/autoencoder.py": MODULE, "solver.py": SOLVER}))
    for _ in range(2):
        assert "TRL003" not in CliRunner().invoke(main, ["."]).stdout
    written(tmp_path, {"tests/test_training.py": "from lightning.pytorch import Trainer\n"})
    assert "TRL003" in CliRunner().invoke(main, ["."]).stdout
