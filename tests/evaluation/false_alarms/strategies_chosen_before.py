"""A strategy of Lightning's Trainer that an if statement chooses, and programs of one process."""

import os

import lightning.pytorch as pl
import pytorch_lightning
from lightning.pytorch.strategies import DDPStrategy
from pytorch_lightning.plugins import DDPPlugin


def several(gpus, model):
    strategy = "auto"
    if gpus > 1:
        strategy = DDPStrategy(find_unused_parameters=False)
    trainer = pl.Trainer(devices=gpus, strategy=strategy)
    trainer.fit(model)
    os.mkdir("results")  # expect: TRL008


def with_plugins(gpus, model):
    trainer = pytorch_lightning.Trainer(gpus=gpus, plugins=[DDPPlugin(find_unused_parameters=False)])
    trainer.fit(model)
    os.mkdir("results")  # expect: TRL008


def precise(gpus, model):
    plugins = None
    if gpus > 1:
        plugins = [pl.plugins.MixedPrecision("16-mixed", "cuda")]
    trainer = pl.Trainer(devices=gpus, plugins=plugins)
    trainer.fit(model)
    os.mkdir("results")


def single(gpus, model):
    strategy = "auto"
    if gpus > 1:
        strategy = "dp"
    trainer = pl.Trainer(devices=gpus, strategy=strategy)
    trainer.fit(model)
    os.mkdir("results")


def spawned(gpus, model):
    strategy = None
    if gpus > 1:
        strategy = "ddp_spawn"
    trainer = pl.Trainer(devices=gpus, strategy=strategy)
    trainer.fit(model)
    os.mkdir("results")
