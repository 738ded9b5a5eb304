"""Loggers of Lightning whose class a test tells: only the first rank has the run of a WandbLogger (TRL008)."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")
MODULE = """\
import {package} as pl
from {package}.loggers import TensorBoardLogger, WandbLogger


class Net(pl.LightningModule):
    def on_train_start(self):
        logger = self.logger
        {}
"""
CHANGES = 'self.logger.experiment.config.update({"size": 3})'

IS_WANDB = "if isinstance(logger, WandbLogger):"


def is_found(*lines: str, package: str = "lightning.pytorch") -> bool:
    return bool(SNIPPETS.findings(MODULE.format("\n        ".join(lines), package=package)))


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
@pytest.mark.parametrize(
    ("lines", "is_reported"),
    [
        (("if isinstance(self.logger, WandbLogger):", f"    {CHANGES}"), True),
        (("if isinstance(self.logger, pl.loggers.WandbLogger):", f"    {CHANGES}"), True),
        (("if isinstance(logger, WandbLogger):", "    logger.experiment.config.update({})"), True),
        (("if not isinstance(self.logger, WandbLogger):", "    return", CHANGES), True),
        (("if isinstance(self.logger, WandbLogger) and self.trainer.is_global_zero:", f"    {CHANGES}"), False),
        (("if isinstance(self.logger, TensorBoardLogger):", f"    {CHANGES}"), False),
        (("if isinstance(self.logger, WandbLogger):", '    self.logger.experiment.log({"size": 3})'), False),
        (("if isinstance(self.logger, WandbLogger):", "    print(1)", CHANGES), False),
        (("if isinstance(self.logger, WandbLogger):", "    print(1)", "else:", f"    {CHANGES}"), False),
        ((CHANGES,), False),
        ((IS_WANDB, '    logger.experiment.summary["size"] = 3'), True),
        ((IS_WANDB, "    run = logger.experiment", '    run.config["size"] = 3'), True),
        ((IS_WANDB, '    logger.experiment.summary["size"] += 3'), True),
        ((IS_WANDB, "    logger.experiment.config.size = 3"), True),
        ((IS_WANDB, '    logger.experiment.summary.update({"size": 3})'), True),
        # Of the stand-in, an attribute is a function that takes anything, and an item of it the stand-in itself.
        ((IS_WANDB, "    logger.experiment.summary = {}"), False),
        ((IS_WANDB, '    logger.experiment["size"] = 3'), False),
        ((IS_WANDB, "    print(logger.experiment.summary)"), False),
        ((IS_WANDB, "    sizes[logger.experiment.summary] = 3"), False),
        (("if isinstance(logger, TensorBoardLogger):", '    logger.experiment.summary["size"] = 3'), False),
        ((f"{IS_WANDB[:-1]} and self.trainer.is_global_zero:", '    logger.experiment.summary["size"] = 3'), False),
    ],
)
def test_a_test_tells_the_class_of_a_logger(package, lines, is_reported):
    assert is_found(*lines, package=package) is is_reported


def test_a_property_of_the_project_is_not_replaced():
    own = "    @property\n    def logger(self):\n        return make()\n"
    text = MODULE.format(
        f"if isinstance(self.logger, WandbLogger):\n            {CHANGES}", package="lightning.pytorch"
    )
    assert SNIPPETS.findings(text)
    assert not SNIPPETS.findings(f"{text}\n{own}")
