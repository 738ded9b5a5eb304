# The strategy that a file makes for a Fabric says nothing of a Trainer of settings beside it.
import lightning.pytorch as pl
from lightning.fabric import Fabric
from lightning.pytorch.strategies import DDPStrategy


def train(config):
    fabric = Fabric(strategy=DDPStrategy(), devices=config.devices)
    fabric.launch()
    return fabric.setup(config.model)


def evaluate(config):
    with open("report.txt", "w") as file:
        file.write(config.name)
    pl.Trainer(**config.evaluation).test(config.model)
