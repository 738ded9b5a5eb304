"""Callbacks of Lightning: what their trainer says."""

from __future__ import annotations

import pytest
from snippets import Snippets

WRITERS = Snippets("TRL008")

SAVES = """\
import os
import torch
import {package} as pl
from somewhere import asked


class Saves({base}):
    def __init__(self, every=None, rank=0, folder="out", chosen=asked):
        self.every = every
        self.rank = rank
        self.folder = folder
        self.chosen = chosen

    def {hook}:
        if {test}:
            return
        torch.save(1, os.path.join({folder}, "x.pt"))
"""
OF_CALLBACK = {"base": "pl.Callback", "hook": "on_validation_epoch_end(self, trainer, pl_module)"}
OF_MODULE = {"base": "pl.LightningModule", "hook": "on_validation_epoch_end(self)"}


def saves(test: str, folder: str = '"out"', package: str = "lightning.pytorch", **parts: str) -> bool:
    parts = parts or OF_CALLBACK
    return bool(WRITERS.findings(SAVES.format(test=test, folder=folder, package=package, **parts)))


@pytest.mark.parametrize("package", ["lightning", "lightning.pytorch", "pytorch_lightning"])
def test_all_ranks_are_at_the_same_step(package):
    assert saves("trainer.sanity_checking", package=package)
    assert saves("self.trainer.sanity_checking", package=package, **OF_MODULE)
    assert saves("self.global_step < 5", package=package, **OF_MODULE)


@pytest.mark.parametrize(
    ("test", "folder", "is_reported"),
    [
        ("trainer.current_epoch != trainer.max_epochs - 1", '"out"', True),
        ("trainer.global_step == 0 or trainer.validating", "trainer.default_root_dir", True),
        ("trainer.interrupted", '"out"', False),
        ("trainer.sanity_checking or not trainer.is_global_zero", '"out"', False),
        ("trainer.sanity_checking", "str(trainer.global_rank)", False),
    ],
)
def test_what_the_trainer_says(test, folder, is_reported):
    assert saves(test, folder) is is_reported
