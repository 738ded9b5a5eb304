"""What a module logs of a validation is in the default set if a program that runs it names a strategy like ddp."""

from __future__ import annotations

import pytest
from started import by_default_in

MODULE = """\
import lightning
from torch.nn.functional import mse_loss


class Model(lightning.LightningModule):
    def validation_step(self, batch, batch_idx):
        self.log("val_loss", mse_loss(self(batch), batch))
"""
TRAIN = """\
import lightning
from models.model import Model
{}

if __name__ == "__main__":
    lightning.Trainer({}).fit(Model())
"""
STRATEGIES = """\
from lightning.pytorch.strategies import DDPStrategy, SingleDeviceStrategy


def strategy_for(gpus):
    return DDPStrategy() if gpus > 1 else SingleDeviceStrategy("cuda")
"""
STATIC = "from models.model import Model\n"
BY_NAME = "import importlib\n\nModel = importlib.import_module({}).Model\n"


def is_by_default(folder, files) -> bool:
    return by_default_in(folder, {"models/model.py": MODULE, **files}, "models/model.py", "TRL003")


@pytest.mark.parametrize(
    ("arguments", "by_default"),
    [
        ('strategy="ddp"', True),
        ("strategy='ddp_find_unused_parameters_true'", True),
        ("strategy=DDPStrategy(find_unused_parameters=True)", True),
        ('accelerator="ddp"', True),
        ('strategy="ddp" if gpus > 1 else "auto"', True),
        ("", False),
        ('strategy="auto"', False),
        ('strategy="dp"', False),
        ('strategy="ddp_notebook" if gpus else None', True),
        ("strategy=RayDDPStrategy()", True),
        ('**{"strategy": "ddp", "devices": 2}', True),
        ("strategy=chosen", False),
        ('# strategy="ddp"\n', False),
    ],
)
def test_what_the_trainer_is_told(arguments, by_default, tmp_path):
    assert is_by_default(tmp_path, {"train.py": TRAIN.format("", arguments)}) is by_default


def test_a_strategy_that_another_file_makes(tmp_path):
    told = TRAIN.format("from strategies import strategy_for", "strategy=strategy_for(2)")
    assert is_by_default(tmp_path, {"train.py": told, "strategies.py": STRATEGIES})


def test_a_program_that_does_not_import_the_model(tmp_path):
    other = TRAIN.format("", 'strategy="ddp"').replace(STATIC, "from others import Model\n")
    assert not is_by_default(tmp_path, {"train.py": TRAIN.format("", ""), "other.py": other})


@pytest.mark.parametrize(
    ("name", "others", "by_default"),
    [
        ("name", {}, True),
        ("name", {"other.py": TRAIN.format("", "").replace(STATIC, "from others import Model\n")}, False),
        # The text names the folder: no other program takes a model from it.
        ('f"models.{name}"', {"other.py": TRAIN.format("", "").replace(STATIC, "from others import Model\n")}, True),
    ],
)
def test_a_model_that_nothing_imports_by_name(name, others, by_default, tmp_path):
    told = TRAIN.format("", 'strategy="ddp"').replace(STATIC, BY_NAME.format(name))
    assert is_by_default(tmp_path, {"train.py": told, **others}) is by_default


# As `main.py` of latent-diffusion does it: the settings name the classes, and one model imports the other.
BY_TARGET = """\
import lightning
from settings import instantiate, read

if __name__ == "__main__":
    settings = read()
    settings["accelerator"] = "{}"
    lightning.Trainer.from_argparse_args(settings).fit(instantiate(settings))
"""


@pytest.mark.parametrize(("strategy", "by_default"), [("ddp", True), ("gpu", False)])
def test_a_model_that_only_another_model_imports(strategy, by_default, tmp_path):
    files = {"main.py": BY_TARGET.format(strategy), "models/larger.py": "from models.model import Model\n"}
    assert is_by_default(tmp_path, files) is by_default


BUILD = """\
import lightning
from lightning.pytorch.strategies import DDPStrategy


def build(devices):
    return lightning.Trainer(strategy=DDPStrategy() if devices > 1 else "auto", devices=devices)
"""
ENTRY = """\
from .model import Model
from .build import build


def main():
    build(4).fit(Model())
"""


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"models/cli.py": ENTRY, "models/build.py": BUILD}, True),
        ({"models/cli.py": ENTRY, "models/build.py": BUILD.replace("DDPStrategy() if devices > 1 else ", "")}, False),
        # The same file only makes both known, or only tests them.
        ({"models/__init__.py": ENTRY, "models/build.py": BUILD}, False),
        ({"models/test_cli.py": ENTRY, "models/build.py": BUILD}, False),
        # A program runs the model, and names no strategy.
        ({"models/cli.py": ENTRY, "models/build.py": BUILD, "train.py": TRAIN.format("", "")}, False),
        ({"models/cli.py": ENTRY.replace("from .model ", "from elsewhere "), "models/build.py": BUILD}, False),
    ],
)
def test_a_package_that_names_its_program_elsewhere(files, by_default, tmp_path):
    others = {"models/other.py": "from .model import Model\n"}
    assert is_by_default(tmp_path, {**files, **others}) is by_default
