"""What a LightningModule logs in a validation is not reported by default in a program without data to validate on."""

from __future__ import annotations

import pytest
from small_projects import found, written

PROGRAM = """\
import pytorch_lightning as pl
from torch.nn.functional import mse_loss

from data import Images


class Net(pl.LightningModule):
    {own}

    def training_step(self, batch, batch_idx):
        {trains}
        return mse_loss(self(batch), batch)

    def validation_step(self, batch, batch_idx):
        self._validate(batch)

    def _validate(self, batch):
        self.log("val/loss", mse_loss(self(batch), batch), sync_dist=False)  # all_gather


class Data(pl.LightningDataModule):
    def train_dataloader(self):
        return [1]

    def val_dataloader(self):
        {body}


def main():
    data = {data}
    pl.Trainer(devices=2, strategy="ddp").fit(Net(), {given})


if __name__ == "__main__":
    main()
"""
FINDING = [("train.py", 18, "TRL003")]
EMPTY = "def val_dataloader(self):\n        return None"


def findings(tmp_path, own="depth = 2", trains="pass", body="pass", data="Data()", given="data", **files: str):
    program = PROGRAM.format(own=own, trains=trains, body=body, data=data, given=given)
    others = {f"{name}.py": text for name, text in files.items()}
    return [each for each in found(written(tmp_path, {"train.py": program, **others})) if each[0] == "train.py"]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"body": '"""No validation."""'},
        {"body": "return None"},
        {"body": "return"},
        {"given": "datamodule=Data()"},
        {"given": "", "own": EMPTY},
    ],
)
def test_a_program_without_data_to_validate_on(change, tmp_path):
    assert findings(tmp_path, **change) == []


@pytest.mark.parametrize(
    "change",
    [
        {"body": "return [2]"},
        {"body": "return None if self.off else [2]"},
        {"body": "raise NotImplementedError"},
        {"data": "Images()"},
        {"data": "build()"},
        {"given": "data, [2]"},
        {"given": "data, val_dataloaders=[2]"},
        {"given": "*data"},
        {"given": ""},
        {"own": "def val_dataloader(self):\n        return [2]"},
        {"other": "from train import Net\n\nprint(Net())\n"},
    ],
)
def test_a_program_with_some(change, tmp_path):
    line = 18 + change.get("own", "").count("\n")
    assert findings(tmp_path, **change) == [("train.py", line, "TRL003")]


def test_what_training_calls_too_is_run(tmp_path):
    run = findings(tmp_path, trains="self._validate(batch)")
    assert run == FINDING
