"""Where settings build all Trainers for one device, what goes wrong on several is not reported by default."""

from __future__ import annotations

from pathlib import PurePath

import pytest
from small_projects import found, written

from trl_lint.launch.judge.trainer_settings import are_of_one_device, trainer_settings

MODULE = """\
import lightning.pytorch as pl
import torch.distributed as dist
from torch.nn.functional import mse_loss


class AutoEncoder(pl.LightningModule):
    def validation_step(self, batch, batch_idx):
        self.log("val/loss", mse_loss(self(batch), batch))

    def seed(self):
        return dist.get_rank() if dist.is_initialized() else self.global_rank
"""
TRAIN = """\
import hydra
from lightning.pytorch import LightningModule, Trainer


@hydra.main(config_path="configs", config_name="train.yaml")
def main(cfg):
    model: LightningModule = hydra.utils.instantiate(cfg.model)
    trainer: Trainer = hydra.utils.instantiate(cfg.trainer)
    trainer.fit(model)


if __name__ == "__main__":
    main()
"""
SETTINGS = {
    "configs/train.yaml": "defaults:\n  - _self_\n  - trainer: default.yaml  # one device\n  - model: auto\n",
    "configs/model/auto.yaml": "_target_: model.AutoEncoder\n",
    "configs/trainer/default.yaml": "_target_: lightning.pytorch.trainer.Trainer\naccelerator: gpu\ndevices: 1\n",
    "configs/trainer/gpu.yaml": "defaults:\n  - default\n\naccelerator: gpu\n",
    "configs/trainer/ddp.yaml": "defaults:\n  - default\n\nstrategy: ddp\ndevices: 4\n",
    "configs/experiment/gan.yaml": "defaults:\n  - override /trainer: gpu\n\ntrainer:\n  max_epochs: 3\n",
}
FINDING = [("model.py", 8, "TRL003")]


def in_project(tmp_path, changed: dict[str, str]) -> list[tuple[str, int, str]]:
    files = {"model.py": MODULE, "train.py": TRAIN, **SETTINGS, **changed}
    return found(written(tmp_path, files))


@pytest.mark.parametrize("changed", [
    {},
    {"README.md": "    python train.py trainer=gpu trainer.devices=1\n"},
    {"README.md": "    python train.py trainer.strategy=auto\n"},
    {"configs/trainer/default.yaml": "_target_: lightning.Trainer\ndevices: 1\nnum_nodes: 1\nstrategy: auto\n"},
    {"configs/experiment/gan.yaml": "defaults:\n- override /trainer: gpu\ntrainer:\n  gpus: [0]\n  num_nodes: 1\n"},
    {"configs/trainer/default.yaml": "_target_: pytorch_lightning.Trainer\ngpus: 1 # one\n"},
])  # fmt: skip
def test_all_that_is_named_is_for_one(tmp_path, changed):
    assert in_project(tmp_path, changed) == []


@pytest.mark.parametrize("changed", [
    {"README.md": "    python train.py trainer=ddp\n"},
    {"README.md": "    python train.py trainer.devices=4\n"},
    {"run.sh": "python train.py +trainer.strategy=ddp\n"},
    {"run.sh": "python train.py trainer.devices=auto\n"},
    {"run.sh": "python train.py -m trainer=default,ddp\n"},
    {"configs/experiment/gan.yaml": "trainer:\n  devices: auto\n"},
    {"configs/experiment/gan.yaml": "trainer: {max_epochs: 3, devices: 4}\n"},
    {"configs/trainer/default.yaml": "_target_: lightning.Trainer\ndevices: 1\nnum_nodes: 4\n"},
    {"configs/experiment/gan.yaml": "defaults:\n  - override /trainer: ddp\n"},
    {"configs/experiment/gan.yaml": "defaults:\n  - override /trainer: gpu\ntrainer:\n  # all\n  devices: -1\n"},
    {"configs/experiment/gan.yaml": "trainer.devices: 2,4\n"},
    {"configs/experiment/gan.yaml": "defaults:\n  - override /trainer: cluster\n"},
    {"configs/trainer/default.yaml": "_target_: lightning.pytorch.trainer.Trainer\ndevices: auto\n"},
    {"configs/trainer/default.yaml": "_target_: lightning.pytorch.trainer.Trainer\n"},
    {"configs/train.yaml": "defaults:\n  - model: auto\n", "configs/experiment/gan.yaml": ""},
    {"sweep.py": "from lightning import Trainer\n\nTrainer(devices=4).fit(1)\n"},
    {"run.sh": "torchrun --nproc_per_node 4 train.py\n"},
])  # fmt: skip
def test_something_may_be_for_several(tmp_path, changed):
    assert in_project(tmp_path, changed) == FINDING


def test_a_crash_is_told_nevertheless(tmp_path):
    module = MODULE.replace(
        'self.log("val/loss"', "if self.global_rank == 0:\n            name = 'val/loss'\n        self.log(name"
    )
    assert [code for *_, code in in_project(tmp_path, {"model.py": module})] == ["TRL017"]


def test_settings_that_add_to_each_other_are_for_nothing_known():
    files = {
        "configs/trainer/default.yaml": "_target_: lightning.Trainer\ndefaults:\n  - gpu\n",
        "configs/trainer/gpu.yaml": "defaults:\n  - default\n",
        "configs/train.yaml": "defaults:\n  - trainer: gpu\n",
    }
    scanned = ((name, trainer_settings(PurePath(name), text.encode())) for name, text in files.items())
    assert not are_of_one_device(scanned)
