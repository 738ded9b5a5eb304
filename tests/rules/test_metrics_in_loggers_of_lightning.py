"""What a LightningModule writes with the loggers of its trainer, which do so on the first process only (TRL003)."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL003")
MODULE = """\
import {package} as pl
import torch
import torch.nn.functional as F


class Classifier(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net, self.losses = net, []

    def {step}(self, batch, batch_idx):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.losses.append(loss)
        {in_step}
        return loss

    def {end}(self):
        loss = torch.stack(self.losses).mean()
        {at_end}


pl.Trainer(devices=4, strategy="ddp").fit(Classifier(net), data)
"""
WRITES = (
    'self.logger.experiment.log({"val/loss": loss})',
    'self.logger.experiment.add_scalar("val/loss", loss, self.current_epoch)',
    'self.logger.experiment.add_scalars("val", {"loss": loss}, self.current_epoch)',
    'self.logger.log_metrics({"val/loss": loss.item()}, self.current_epoch)',
    'self.trainer.logger.log_metrics({"val/loss": loss.item()})',
    'for logger in self.loggers: logger.log_metrics({"val/loss": loss.item()})',
)
GATHERED = "loss = self.all_gather(loss).mean()"


def found(at_end: str = "pass", in_step: str = "pass", kind: str = "validation", package: str = "lightning.pytorch"):
    step, end = f"{kind}_step", f"on_{kind.removesuffix('ing')}_epoch_end"
    text = MODULE.format(step=step, end=end, at_end=at_end, in_step=in_step, package=package)
    return SNIPPETS.findings(text)


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning", "lightning"])
@pytest.mark.parametrize("writes", WRITES)
def test_the_end_of_a_validation(writes, package):
    (finding,) = found(writes, package=package)
    assert "only the main process's value" in finding.message
    assert "self.all_gather(value).mean()" in finding.help
    assert finding.by_default


@pytest.mark.parametrize("writes", WRITES)
def test_what_is_reduced_is_not_reported(writes):
    assert not found(f"{GATHERED}\n        {writes}")


@pytest.mark.parametrize("writes", WRITES)
def test_steps_show_a_batch(writes):
    assert not found(in_step=writes)
    assert not found(in_step=writes, kind="training")


@pytest.mark.parametrize("kind", ["training", "test"])
def test_other_epochs_are_not_in_the_default_set(kind):
    (finding,) = found(WRITES[0], kind=kind)
    assert not finding.by_default


@pytest.mark.parametrize(
    "writes",
    [
        'self.logger.experiment.log({"epoch": self.current_epoch})',
        'self.logger.experiment.log({"image": wandb.Image(self.losses[0])})',
        'self.logger.log_metrics({"lr": self.optimizers().param_groups[0]["lr"]})',
        'self.logger.log_hyperparams({"batch_size": 32})',
    ],
)
def test_no_metrics(writes):
    assert not found(writes)


def test_one_process_is_not_reported():
    text = MODULE.format(
        step="validation_step", end="on_validation_epoch_end", at_end=WRITES[0], in_step="pass", package="lightning"
    )
    alone = text.replace('devices=4, strategy="ddp"', "devices=1")
    assert not [each for each in SNIPPETS.findings(alone) if each.by_default]
