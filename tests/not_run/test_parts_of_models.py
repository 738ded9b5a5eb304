"""What a LightningModule logs is not reported by default where settings only build it as a part of another model."""

from __future__ import annotations

from pathlib import PurePath

import pytest
from small_projects import found, written

from trl_lint import api
from trl_lint.launch.judge.built_classes import BuiltClasses, built_classes
from trl_lint.settings import Settings

MODULE = """\
import pytorch_lightning as pl
from torch.nn.functional import mse_loss


class AutoEncoder(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        return mse_loss(self(batch), batch)

    def validation_step(self, batch, batch_idx):
        self._validate(batch)

    def _validate(self, batch):
        self.log("val/loss", mse_loss(self(batch), batch), sync_dist=False)  # all_gather


class Interface(AutoEncoder):
    def encode(self, x):
        return self(x)
"""
FINDING = [("models/autoencoder.py", 13, "TRL003")]
# It trains what the settings say.
MAIN = """\
import pytorch_lightning as pl
from omegaconf import OmegaConf

from models.autoencoder import (
    AutoEncoder,
)
from util import build

if __name__ == "__main__":
    model = build(OmegaConf.load("config.yaml").model)
    assert not isinstance(model.first, (AutoEncoder, str))
    pl.Trainer(devices=2).fit(model)
"""
SETTINGS = """\
# AutoEncoder
model:
  params:
    first:
      target: models.autoencoder.{name}
      params: {{depth: 2}}
    second:
    - target: models.autoencoder.Other
  target: models.diffusion.Diffusion
data:
  target: data.Images
"""
AS_PART = SETTINGS.format(name="AutoEncoder")


def in_project(tmp_path, files: dict[str, str]) -> list[tuple[str, int, str]]:
    return found(written(tmp_path, {"models/autoencoder.py": MODULE, "main.py": MAIN, **files}))


@pytest.mark.parametrize(
    "settings",
    [
        {"config.yaml": AS_PART},
        {"config.yaml": AS_PART.replace("target", "_target_")},
        {"config.yaml": SETTINGS.format(name="Interface")},
        # The code has a folder of its own.
        {"weights/config.yaml": AS_PART, "models/setup.py": ""},
    ],
)
def test_a_part_of_another_model(tmp_path, settings):
    assert in_project(tmp_path, settings) == []
    asked = api.check([tmp_path], Settings(root=tmp_path, select=("TRL003",)))
    assert [(each.start.line, each.code, each.by_default) for each in asked] == [(13, "TRL003", False)]


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"config.yaml": SETTINGS.format(name="Nothing")},
        {"config.yaml": AS_PART, "first.yaml": "model:\n  target: models.autoencoder.AutoEncoder\n"},
        {"config.yaml": AS_PART, "first.yaml": "model:\n  class_path: models.autoencoder.Interface\n"},
        {"config.yaml": AS_PART, "first.yaml": "model: AutoEncoder\n"},
        {"config.yaml": AS_PART, "first.yaml": "model: {target: models.autoencoder.AutoEncoder}\n"},
        {"config.yaml": AS_PART, "first.yaml": "models:\n- AutoEncoder\n"},
        {"config.yaml": AS_PART, "first.py": "from models import autoencoder\n\nprint(autoencoder.AutoEncoder())\n"},
        {"config.yaml": AS_PART, "first.py": "from models.autoencoder import Interface as Own\n\nprint(Own())\n"},
        {"config.yaml": AS_PART, "first.py": "MODELS = {'first': 'models.autoencoder.Interface'}\n"},
        {
            "config.yaml": AS_PART,
            "first.py": "from models.autoencoder import AutoEncoder\n\n\nclass Best(AutoEncoder):\n    depth = 2\n",
            "last.py": "from first import Best\n\nprint(Best())\n",
        },
    ],
)
def test_a_module_that_may_be_trained(tmp_path, others):
    assert in_project(tmp_path, others) == FINDING


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        (AS_PART, {"Diffusion", "Images"}, {"AutoEncoder", "Other"}),
        ("a:\n  b:\n    target: m.Part\n  target: m.Whole\nc:\n  target: m.Next\n", {"Whole", "Next"}, {"Part"}),
        ("- target: m.One\n  of:\n  - target: m.Part\n- target: m.Two\n", {"One", "Two"}, {"Part"}),
        ("target: 'm.Whole' # Note\nparts: [Any, 1]\nname: Text\n", {"Any", "Text", "Whole"}, set()),
        ("steps: 10\n", set(), set()),
    ],
)
def test_the_classes_that_settings_name(text, whole, parts):
    assert built_classes(PurePath("a.yaml"), text.encode())[:2] == (whole, parts)
    assert built_classes(PurePath("a.txt"), text.encode()) == BuiltClasses()


@pytest.mark.parametrize(
    ("text", "path", "is_there"),
    [
        ("model:\n  target: own.models.net.Net\n", "src/own/models/net.py", True),
        ("model:\n  target: own.models.net.Net\n", "own/models/net/__init__.py", True),
        ("model:\n  target: own.models.net.make\n", "own/models/net.py", True),
        ("model: {target: own.models.net.Net}\n", "own/models/net.py", True),
        ("model:\n  target: own.models.net.Net\n", "models/net.py", False),
        ("model:\n  target: own.models.net.Net\n", "own/models/net_old.py", False),
        ("model:\n  target: Net\n", "net.py", False),
    ],
)
def test_the_modules_whose_classes_settings_name(text, path, is_there):
    assert built_classes(PurePath("a.yaml"), text.encode()).are_in(PurePath(path)) is is_there
