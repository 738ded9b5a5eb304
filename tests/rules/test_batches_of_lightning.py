"""TRL003: what hooks of Lightning get of this rank: its batch, and what a step has returned for it."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL003")


def logged(text: str) -> list[str]:
    return [each.message.split("`")[1] for each in SNIPPETS.findings(text)]


OF_CALLBACK = """\
import numpy as np
import {package} as pl

STRATEGY = "ddp"


class Ppl({base}):
    def __init__(self):
        self.values = []

    def on_validation_batch_end(self, trainer, {module}, outputs, batch, batch_idx, dataloader_idx=0):
        self.values.append({value})

    def on_{event}_end(self, trainer, {module}):
        {module}.{log}
"""


def of_callback(
    value: str = "outputs.exp().item()",
    log: str = 'log("ppl", np.mean(self.values))',
    event: str = "validation_epoch",
    package: str = "lightning.pytorch",
    base: str = "pl.Callback",
    module: str = "pl_module",
) -> list[str]:
    parts = {"value": value, "log": log, "event": event, "package": package, "base": base, "module": module}
    return logged(OF_CALLBACK.format(**parts))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"value": 'outputs["loss"].mean().item()'},
        {"value": 'batch["mask"].float().mean().item()'},
        {"log": 'log_dict({"ppl": np.mean(self.values)})'},
        {"log": 'log("ppl", np.mean(self.values), on_epoch=True, sync_dist=False)'},
        {"event": "train_epoch"},
        {"base": "pl.callbacks.ModelCheckpoint"},
        {"package": "pytorch_lightning"},
        {"package": "lightning"},
        {"module": "model"},
    ],
)
def test_a_callback_logs_with_the_module(parts):
    assert of_callback(**parts) == ["ppl"]


@pytest.mark.parametrize(
    "parts",
    [
        {"log": 'log("ppl", np.mean(self.values), sync_dist=True)'},
        {"log": 'logger.log("ppl", np.mean(self.values))'},
        {"log": 'log("ppl", np.mean(self.values), on_step=True, on_epoch=False)'},
        {"value": "pl_module.all_gather(outputs).mean().item()"},
        {"value": "batch_idx"},
        {"base": "object"},
        {"event": "sanity_check"},
    ],
)
def test_what_is_reduced_or_of_a_batch_and_what_is_no_callback(parts):
    assert of_callback(**parts) == []


OF_MODULE = """\
import lightning as L
import torch

STRATEGY = "ddp"


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.values = []

    def validation_step(self, batch, batch_idx):
        loss = self.net(batch).mean()
        return {result}

    def {hook}:
        {body}

    def on_validation_epoch_end(self):
        self.log("kept", torch.stack(self.values).mean())
"""
BATCH_END = "on_validation_batch_end(self, outputs, batch, batch_idx, dataloader_idx=0)"
STEP_END = "validation_step_end(self, results)"


@pytest.mark.parametrize(
    ("result", "hook", "body", "names"),
    [
        ("loss", BATCH_END, "self.values.append(outputs)", ["kept"]),
        ('{"loss": loss}', BATCH_END, 'self.values.append(outputs["loss"])', ["kept"]),
        ('{"loss": loss}', BATCH_END, 'self.log("loss", outputs["loss"])', ["loss"]),
        ("None", BATCH_END, 'self.values.append(batch["x"].mean())', ["kept"]),
        ("None", "on_validation_batch_start(self, batch, batch_idx)", 'self.log("size", batch["x"].mean())', ["size"]),
        ("loss", STEP_END, 'self.log("loss", results)', ["loss"]),
        ("loss", STEP_END, "self.values.append(results)", ["kept"]),
        # What the step returns, all ranks have alike.
        ("self.all_gather(loss).mean()", BATCH_END, "self.values.append(outputs)", []),
        ("self.all_gather(loss).mean()", STEP_END, 'self.log("loss", results)', []),
        ('{"loss": loss, "n": 3}', BATCH_END, 'self.log("n", outputs["n"])', []),
        # Nothing is known of it.
        ("self.made(3)", BATCH_END, "self.values.append(outputs)", []),
        ("loss", BATCH_END, 'self.log("loss", outputs, sync_dist=True)', []),
        ("loss", "on_validation_end(self, outputs)", "self.values.append(outputs)", []),
    ],
)
def test_a_module_gets_what_its_step_returns(result, hook, body, names):
    assert logged(OF_MODULE.format(result=result, hook=hook, body=body)) == names


MADE_AT_ITS_END = """\
import lightning as L
import torch

STRATEGY = "ddp"


class Module(L.LightningModule):
    def validation_step(self, batch, batch_idx):
        return self.net(batch).mean()

    def validation_step_end(self, loss):
        return {"loss": {result}}

    def validation_epoch_end(self, outputs):
        self.log("loss", torch.stack([each["loss"] for each in outputs]).mean())
"""


@pytest.mark.parametrize(
    ("result", "names"), [("loss", ["loss"]), ("self.all_gather(loss).mean()", []), ("self.made(3)", [])]
)
def test_the_end_of_an_epoch_gets_what_the_end_of_a_step_returns(result, names):
    assert logged(MADE_AT_ITS_END.replace("{result}", result)) == names
