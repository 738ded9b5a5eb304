"""What a LightningModule logs is not reported by default if only programs make it that have Lightning run nothing."""

from __future__ import annotations

import pytest
from small_projects import found, written

MODELS = """\
import pytorch_lightning as pl
from torch.nn.functional import mse_loss


class AutoEncoder(pl.LightningModule):
    def validation_step(self, batch, batch_idx):
        self.log("val/loss", mse_loss(self(batch), batch), sync_dist=False)  # all_gather


class Prior(pl.LightningModule):
    def validation_step(self, batch, batch_idx):
        self.log("val/loss", mse_loss(self(batch), batch), sync_dist=False)
"""
TRAIN = """\
import pytorch_lightning as pl

from models import AutoEncoder

if __name__ == "__main__":
    pl.Trainer(devices=2).fit(AutoEncoder())
"""
SAMPLE = """\
from models import Prior

if __name__ == "__main__":
    print(Prior.load_from_checkpoint("prior.ckpt").sample())
"""
RENAMED = TRAIN.replace("AutoEncoder\n", "Prior as Own\n").replace("AutoEncoder", "Own")
TRAINED = ("models.py", 7, "TRL003")
SAMPLED = ("models.py", 12, "TRL003")


def in_project(tmp_path, files: dict[str, str]) -> list[tuple[str, int, str]]:
    return found(written(tmp_path, {"models.py": MODELS, "train.py": TRAIN, **files}))


def test_a_model_that_programs_only_sample_from(tmp_path):
    assert in_project(tmp_path, {"sample.py": SAMPLE}) == [TRAINED]


def test_an_heir_that_programs_only_sample_from(tmp_path):
    heir = "from models import Prior\n\n\nclass Large(Prior):\n    depth = 9\n"
    assert in_project(tmp_path, {"large.py": heir, "sample.py": SAMPLE.replace("Prior", "Large")}) == [TRAINED]


@pytest.mark.parametrize(
    "others",
    [
        {"sample.py": SAMPLE, "second.py": TRAIN.replace("AutoEncoder", "Prior")},
        {"sample.py": SAMPLE, "second.py": RENAMED},
        {"sample.py": SAMPLE, "config.yaml": "model:\n  target: models.Prior\n"},
        {"sample.py": SAMPLE, "train.py": f"{TRAIN}    print(build('models.Prior'))\n"},
        {"sample.py": SAMPLE, "models.py": f"{MODELS}\n\ndef make():\n    return Prior()\n"},
        # The program has another file run it.
        {
            "run.py": "from pytorch_lightning import Trainer\n\n\ndef run(model):\n    Trainer(devices=2).fit(model)\n",
            "sample.py": f"from run import run\n{SAMPLE}    run(Prior())\n",
        },
        # A file that no program imports may be a part of any.
        {"make.py": "from models import Prior\n\n\ndef make():\n    return Prior()\n"},
        {
            "large.py": "from models import Prior\n\n\nclass Large(Prior):\n    depth = 9\n",
            "sample.py": SAMPLE,
            "second.py": TRAIN.replace("from models", "from large").replace("AutoEncoder", "Large"),
        },
    ],
)
def test_a_model_that_a_program_may_train(tmp_path, others):
    assert in_project(tmp_path, others) == [TRAINED, SAMPLED]
