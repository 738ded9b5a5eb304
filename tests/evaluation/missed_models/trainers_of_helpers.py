# A helper, or a property, that only makes a trainer of several processes shows as much to its caller as if it made the
# trainer itself; the file makes a strategy for it, though the trainer gets it out of settings.
import os

import lightning.pytorch as pl
from lightning.pytorch.strategies import DDPStrategy


def strategy_of(config):
    return DDPStrategy(find_unused_parameters=config.unused) if config.gpus > 1 else "auto"


class Experiment:
    def __init__(self, config):
        self.config = config

    @property
    def trainer(self):
        settings = dict(self.config.trainer)
        settings["strategy"] = strategy_of(self.config)
        return pl.Trainer(**settings)

    def run(self):
        if self.config.mode == "train":
            target = self.trainer.fit
        else:
            target = self.trainer.predict
        return target(model=self.config.model)


class Inference(Experiment):
    def run(self, queries):
        super().run()
        with open("queries.json", "w") as file:  # expect: TRL008
            file.write(queries)

    def describe(self, queries):
        with open("description.json", "w") as file:  # nobody who calls this runs a trainer
            file.write(queries)


def trainer_of(config):
    trainer = pl.Trainer(strategy=strategy_of(config), max_epochs=config.epochs)
    return trainer


def train(config, model):
    if config.train:
        trainer = trainer_of(config)
        trainer.fit(model)
    os.mkdir("out")  # expect: TRL008


def trained(config, model):
    trainer = trainer_of(config)
    trainer.fit(model)
    return model.best


def report(config, model):
    if config.train:
        trained(config, model)  # which may be a program of its own: this one makes no trainer
    os.mkdir("report")
