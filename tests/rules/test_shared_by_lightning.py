"""TRL015: Lightning's trainer gives each rank its share of the rows, in an order that its seed decides."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL015")

TRAINS = """\
import os
import torch
import {package} as pl
from torch.utils.data import DataLoader, random_split


def seed_alike(library):
    pl.seed_everything(1)


def seed_apart(library, rank):
    pl.seed_everything(rank)


def main(seed, rows, model):
    rank = int(os.environ.get("LOCAL_RANK", 0))
    {first}
    train, val = random_split(rows, [90, 10])
    trainer = pl.Trainer({given})
    {then}
    trainer.fit(model, {loaders})


main(3, rows, model)
"""
SEVERAL = 'devices=8, strategy="ddp"'


def found(
    first: str = "pass",
    then: str = "pass",
    loaders: str = "DataLoader(train), DataLoader(val)",
    given: str = SEVERAL,
    package: str = "lightning.pytorch",
) -> list[str]:
    parts = {"first": first, "then": then, "loaders": loaders, "given": given, "package": package}
    return SNIPPETS.places(TRAINS.format(**parts))


SPLIT = "random_split(rows, [90, 10])"
SHUFFLED = {"loaders": "DataLoader(rows, shuffle=True)"}


@pytest.mark.parametrize(
    ("parts", "places"),
    [
        ({}, [SPLIT]),
        ({"package": "pytorch_lightning"}, [SPLIT]),
        ({"loaders": "train_dataloaders=[DataLoader(train)]"}, [SPLIT]),
        ({"loaders": "DataLoader(rows), DataLoader(val)"}, [SPLIT]),
        # All ranks draw alike, or none has a share of it.
        ({"first": "pl.seed_everything(seed)"}, []),
        ({"first": "torch.manual_seed(1)"}, []),
        ({"loaders": "DataLoader(rows)"}, []),
        ({"given": "devices=1"}, []),
        ({"given": "devices=model.devices"}, []),
        ({"given": f"{SEVERAL}, use_distributed_sampler=False"}, []),
    ],
)
def test_rows_that_each_rank_has_drawn(parts, places):
    assert found(**parts) == places


BY_TRAINER = "pl.seed_everything(seed + trainer.global_rank, workers=True)"
BY_LAUNCH = "pl.seed_everything(seed + rank)"


@pytest.mark.parametrize(
    ("parts", "places"),
    [
        ({"then": BY_TRAINER, **SHUFFLED}, [BY_TRAINER]),
        ({"then": BY_LAUNCH, **SHUFFLED}, [BY_LAUNCH]),
        ({"then": BY_LAUNCH, "package": "lightning", **SHUFFLED}, [BY_LAUNCH]),
        # The last seed counts; rows that are not shuffled, and generators that are not Lightning's.
        ({"first": BY_LAUNCH, "then": "pl.seed_everything(seed)", **SHUFFLED}, []),
        ({"first": BY_LAUNCH, "then": "seed_alike(pl)", **SHUFFLED}, []),
        ({"then": "pl.seed_everything(2)\n    seed_apart(pl, rank)", **SHUFFLED}, ["pl.seed_everything(rank)"]),
        ({"then": BY_TRAINER, "loaders": "DataLoader(rows)"}, []),
        ({"then": BY_TRAINER, "loaders": "DataLoader(rows, shuffle=False)"}, []),
        ({"then": BY_TRAINER, "loaders": "DataLoader(rows, shuffle=True, sampler=own)"}, []),
        ({"then": "torch.manual_seed(seed + rank)", **SHUFFLED}, []),
        ({"then": BY_TRAINER, "given": f"{SEVERAL}, use_distributed_sampler=False", **SHUFFLED}, []),
    ],
)
def test_the_seed_of_the_sampler_that_the_trainer_injects(parts, places):
    assert found(**parts) == places


OF_HELPER = """\
import os
import lightning as L
from torch.utils.data import DataLoader

class Data(L.LightningDataModule):
    def make(self, {parameters}):
        {body}

    def train_dataloader(self):
        return self.{train}

    def val_dataloader(self):
        return self.make({val})

    def ours(self, flag):
        return self.make(flag)

L.seed_everything(int(os.environ["RANK"]))
trainer = L.Trainer(devices=4, strategy="ddp")
trainer.fit(model(), Data())
"""
RETURNS = "return DataLoader(rows(), batch_size=4, shuffle=train)"
OPEN = {"parameters": "**options", "body": "return DataLoader(rows(), **options)"}


@pytest.mark.parametrize(
    ("parts", "is_found"),
    [
        ({}, True),
        ({"train": "make(train=True)"}, True),
        ({"train": "ours(True)"}, True),
        ({"parameters": "train=True", "train": "make()", "val": "train=False"}, True),
        ({**OPEN, "train": "make(shuffle=True)"}, True),
        # Only what is validated is shuffled, or none of it is by Lightning.
        ({"train": "make(False)", "val": "True"}, False),
        ({"train": "make(flag())"}, False),
        ({"parameters": "train=True", "train": "make(False)"}, False),
        ({"body": f"train = False\n        {RETURNS}"}, False),
        ({"body": RETURNS[:-1] + ", sampler=own)"}, False),
        ({"body": "if train:\n            return DataLoader(rows(), shuffle=True)", "train": "make(False)"}, False),
        ({**OPEN, "train": "make(shuffle=True, sampler=own)"}, False),
    ],
)
def test_a_method_that_makes_the_loaders_is_told_to_shuffle(parts, is_found):
    text = OF_HELPER.format(**{"parameters": "train", "body": RETURNS, "train": "make(True)", "val": "False", **parts})
    assert SNIPPETS.places(text) == ['L.seed_everything(int(os.environ["RANK"]))'] * is_found


OF_FUNCTION = """\
import os
import lightning as L
from torch.utils.data import DataLoader

def make(split, train=False):
    rows = find(split)
    {body}

L.seed_everything(int(os.environ["RANK"]))
trainer = L.Trainer(devices=4, strategy="ddp")
loader = {train}
trainer.fit(model(), loader)
"""


@pytest.mark.parametrize(
    ("parts", "is_found"),
    [
        ({}, True),
        ({"train": 'make("train", True)'}, True),
        ({"body": "return DataLoader(rows, shuffle=True)", "train": 'make("train")'}, True),
        ({"train": 'make("train")'}, False),
        ({"train": 'make("train", train=flag())'}, False),
        ({"body": "return DataLoader(rows, shuffle=train, sampler=own)"}, False),
        ({"body": "if train:\n        return DataLoader(rows, shuffle=True)", "train": 'make("train")'}, False),
    ],
)
def test_a_function_that_makes_the_loader_is_told_to_shuffle(parts, is_found):
    text = OF_FUNCTION.format(
        **{"body": "return DataLoader(rows, shuffle=train)", "train": 'make("train", train=True)', **parts}
    )
    assert SNIPPETS.places(text) == ['L.seed_everything(int(os.environ["RANK"]))'] * is_found


def test_help_tells_how_ranks_shuffle_alike():
    (finding,) = SNIPPETS.findings(
        TRAINS.format(first="pass", then=BY_TRAINER, given=SEVERAL, package="lightning", **SHUFFLED)
    )
    assert finding.message.startswith("Lightning's sampler shuffles with a different seed on each rank")
    assert finding.help.startswith("seed all ranks alike (`seed_everything(seed, workers=True)`")


DATA = """\
import lightning as L
import torch
from torch.utils.data import DataLoader, random_split


class Data(L.{base}):
    def setup(self, stage=None):
        rows = load(self.path)
        if stage == "fit":
            self.train, self.val = random_split(rows, [90, 10]{seed})

    def train_dataloader(self):
        return DataLoader(self.train, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val)


def main(path, seed, model):
    data = Data(path)
    trainer = L.Trainer(devices={devices})
    {seeds}
    {fit}


main("rows", 1, model)
"""
OF_DATA = {
    "base": "LightningDataModule",
    "seed": "",
    "devices": "4",
    "seeds": "pass",
    "fit": "trainer.fit(model, datamodule=data)",
}
SHARED = "random_split(rows, [90, 10])"
APART = "L.seed_everything(seed + trainer.global_rank)"
ALONE = ", generator=torch.Generator().manual_seed(1)"


@pytest.mark.parametrize(
    ("parts", "places"),
    [
        ({}, [SHARED]),
        ({"base": "LightningModule", "fit": "trainer.fit(data)"}, [SHARED]),
        ({"fit": "trainer.fit(model, data)"}, [SHARED]),
        ({"seeds": APART}, [SHARED, APART]),
        ({"seeds": APART, "seed": ALONE}, [APART]),
        ({"seeds": "L.seed_everything(1)"}, []),
        ({"seed": ALONE}, []),
        ({"devices": "1"}, []),
        ({"base": "DataModule"}, []),
        ({"fit": "trainer.test(model, datamodule=data)"}, []),
    ],
)
def test_what_a_data_module_draws_in_a_fit(parts, places):
    assert SNIPPETS.places(DATA.format(**{**OF_DATA, **parts})) == places
