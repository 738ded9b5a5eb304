"""TRL006: a Trainer of Lightning is known by the annotation of a parameter, and by what its `fit` is passed."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")
IMPORTS = "{package}\nfrom hydra.utils import instantiate\n\n"
MADE = "def train(cfg, model, data):\n    trainer = instantiate(cfg.trainer)\n    {run}\n"
SAVES = '    if {test}:\n        trainer.save_checkpoint("last.ckpt")\n'
LIGHTNING = "import lightning as L"
RUNS = "trainer.fit(model, datamodule=data)"


def made(package: str = LIGHTNING, run: str = RUNS, test: str = "trainer.is_global_zero", rest: str = "") -> str:
    return IMPORTS.format(package=package) + MADE.format(run=run) + (rest or SAVES.format(test=test))


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        (made(), True),
        (made(run='trainer.fit(model, train, ckpt_path="last.ckpt")'), True),
        (made(run="trainer.test(model, datamodule=data)"), True),
        (made(package="from lightning.pytorch.callbacks import Callback"), True),
        (made(test="model.trainer.global_rank == 0 and trainer.is_global_zero"), True),
        # All ranks save.
        (made(test="cfg.save"), False),
        # Before 2.0 a replicated model is saved without a barrier.
        (made(package="import pytorch_lightning as pl"), False),
        # It may be another library's trainer, or one of the project's own.
        (made(run="trainer.fit(model, data)"), False),
        (made(run="tuner.fit(model, datamodule=data)"), False),
        (made(run="trainer.prepare(model, datamodule=data)"), False),
        # The barrier of those that do not write.
        (
            made(rest='    trainer.save_checkpoint("last.ckpt")\n    if trainer.is_global_zero:\n        print(1)\n'),
            False,
        ),
    ],
)
def test_what_a_trainer_alone_is_passed_shows_one(text: str, speaks: bool):
    assert bool(SNIPPETS.findings(text)) is speaks


GIVEN = """\
{package}
import somewhere


def save(trainer: {annotation}, path):
    trainer.save_checkpoint(path)


def train(model):
    trainer = somewhere.trainer()
    if {test}:
        save(trainer, "last.ckpt")
"""


@pytest.mark.parametrize(
    ("package", "annotation", "test", "speaks"),
    [
        (LIGHTNING, "L.Trainer", "trainer.is_global_zero", True),
        (LIGHTNING, "L.Trainer | None", "trainer.is_global_zero", True),
        (LIGHTNING, "L.Trainer", "trainer.max_epochs > 1", False),
        ("import pytorch_lightning as pl", "pl.Trainer", "trainer.is_global_zero", False),
        (LIGHTNING, "object", "trainer.is_global_zero", False),
        ("from lightning.fabric import Fabric", "Fabric", "trainer.is_global_zero", False),
    ],
)
def test_an_annotation_shows_one(package: str, annotation: str, test: str, speaks: bool):
    text = GIVEN.format(package=package, annotation=annotation, test=test)
    assert bool(SNIPPETS.findings(text)) is speaks
