"""TRL003: what Lightning shows of an epoch: of a training, of a test, and at its end, of what its steps return."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL003")


def metrics(text: str, *, by_default: bool | None = None) -> set[str]:
    findings = SNIPPETS.findings(text)
    assert by_default is None or all(each.by_default is by_default for each in findings)
    return {each.message.split("`")[1] for each in findings}


EPOCHS = """\
import lightning as L
import torch
from torch.nn.functional import cross_entropy

STRATEGY = "ddp"


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.losses = []

    def {hook}(self{parameters}):
        {body}
"""
OF_STEP = """\
inputs, targets = batch
        loss = cross_entropy(self.net(inputs), targets)
        self.losses.append(loss)
        self.log("loss", loss{})
        return loss"""


@pytest.mark.parametrize(
    ("hook", "given", "is_reported"),
    [
        ("training_step", ", on_step=False, on_epoch=True", True),
        ("training_step", ", on_epoch=True, sync_dist=True", False),
        ("training_step", ", on_epoch=False", False),
        ("training_step", ", on_epoch=self.whole", False),
        ("training_step", "", False),
        ("test_step", "", True),
        ("test_step", ", sync_dist=True", False),
        ("test_step", ", on_step=True, on_epoch=False", False),
        ("validation_step", ", on_step=True, on_epoch=False", False),
        ("predict_step", "", False),
    ],
)
def test_means_of_an_epoch_that_is_no_validation_are_not_in_the_default_set(hook, given, is_reported):
    text = EPOCHS.format(hook=hook, parameters=", batch, batch_idx", body=OF_STEP.format(given))
    assert bool(metrics(text, by_default=False)) is is_reported
    assert not is_reported or "sync_dist=True" in SNIPPETS.mended(text)


@pytest.mark.parametrize(
    ("hook", "is_reported"),
    [("on_test_epoch_end", True), ("on_train_epoch_end", True), ("on_train_batch_end", False)],
)
def test_the_end_of_an_epoch_shows_all_of_it(hook, is_reported):
    ended = EPOCHS.format(hook=hook, parameters="", body='self.log("loss", torch.stack(self.losses).mean())')
    step = EPOCHS.format(hook="training_step", parameters=", batch, batch_idx", body=OF_STEP.format(""))
    text = step + "\n" + ended[ended.index(f"    def {hook}") :]
    assert bool(metrics(text, by_default=False)) is is_reported


def test_what_a_validation_shows_as_well_is_in_the_default_set():
    shared = """\
import lightning as L
from torch.nn.functional import cross_entropy

STRATEGY = "ddp"


class Module(L.LightningModule):
    def training_step(self, batch, batch_idx):
        return self.shown(batch)

    def test_step(self, batch, batch_idx):
        return self.shown(batch)

    def {}(self, batch, batch_idx):
        return self.shown(batch)

    def shown(self, batch):
        loss = cross_entropy(self.net(batch["x"]), batch["y"])
        self.log("loss", loss, on_epoch=True)
        return loss
"""
    assert metrics(shared.format("validation_step"), by_default=True) == {"loss"}
    assert metrics(shared.format("other_step"), by_default=False) == {"loss"}


FORWARD = """\
import lightning as L
import torch

STRATEGY = "ddp"


class Module(L.LightningModule):
    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, *args, **kwargs):
        return {forward}

    def validation_step(self, batch, batch_idx):
        inputs, targets = batch
        _, losses = self(inputs, targets)
        self.log("loss", sum(losses.values()))
"""


@pytest.mark.parametrize(
    ("forward", "is_reported"),
    [
        ("self.model(*args, **kwargs)", True),
        ("self.all_gather(self.model(*args, **kwargs))", False),
        ("somewhere(*args, **kwargs)", False),
    ],
)
def test_a_call_of_the_module_runs_its_forward(forward, is_reported):
    assert bool(metrics(FORWARD.format(forward=forward))) is is_reported


OUTPUTS = """\
import pytorch_lightning as pl
import torch
from torch.nn.functional import cross_entropy

STRATEGY = "ddp"


class Module(pl.LightningModule):
    def {step}(self, batch, batch_idx):
        inputs, targets = batch
        loss = cross_entropy(self.net(inputs), targets)
        return {returned}

    def {end}(self, outputs):
        {body}
"""
KEYED = 'self.log("loss", torch.stack([each["loss"] for each in outputs]).mean())'
PLAIN = 'self.log("loss", torch.stack(outputs).mean())'
MEAN_BY_KEY = """\
means = {"loss": torch.stack([each["loss"] for each in outputs]).mean(), "size": outputs[0]["size"]}
        for name, value in means.items():
            self.log(name, value)"""
OF_VALIDATION = ("validation_step", "validation_epoch_end")
GATHERED_END = """

    def validation_step_end(self, outputs):
        return self.all_gather(outputs)
"""


@pytest.mark.parametrize(
    ("hooks", "returned", "body", "is_reported"),
    [
        (OF_VALIDATION, '{"loss": loss, "size": 3}', KEYED, True),
        (OF_VALIDATION, '{"loss": loss, "size": 3}', MEAN_BY_KEY, True),
        (OF_VALIDATION, "loss", PLAIN, True),
        (("test_step", "test_epoch_end"), "loss", PLAIN, True),
        (OF_VALIDATION, '{"loss": loss}', KEYED.replace(".mean())", ".mean(), sync_dist=True)"), False),
        (OF_VALIDATION, "self.all_gather(loss)", PLAIN, False),
        (OF_VALIDATION, '{"loss": self.all_gather(loss).mean(), "other": loss}', KEYED, False),
        (OF_VALIDATION, "loss", PLAIN.replace("torch.stack(outputs)", "self.all_gather(torch.stack(outputs))"), False),
        (OF_VALIDATION, '{"loss": 3}', KEYED, False),
        (OF_VALIDATION, "somewhere(loss)", PLAIN, False),
        (OF_VALIDATION, "None", PLAIN, False),
        # The step's own end makes something of it.
        (OF_VALIDATION, "loss", PLAIN + GATHERED_END, False),
        # It gets the loss alone, in a dict.
        (("training_step", "training_epoch_end"), "loss", PLAIN, False),
    ],
)
def test_the_end_of_an_epoch_gets_what_the_own_steps_have_returned(hooks, returned, body, is_reported):
    text = OUTPUTS.format(step=hooks[0], end=hooks[1], returned=returned, body=body)
    assert bool(metrics(text)) is is_reported


def test_steps_of_a_base_class_are_followed():
    text = OUTPUTS.format(step=OF_VALIDATION[0], end="other", returned="loss", body="pass")
    heir = "\n\nclass Heir(Module):\n    def validation_epoch_end(self, results):\n        {}\n"
    assert metrics(text + heir.format(PLAIN.replace("outputs", "results"))) == {"loss"}


COLLECTED = """\
import lightning as L
import torch
from torch.nn.functional import cross_entropy
from torchmetrics import {metric}

STRATEGY = "ddp"


class Module(L.LightningModule):
    def __init__(self, metric):
        super().__init__()
        self.metric = {metric}(metric)

    def validation_step(self, batch, batch_idx):
        outputs = self.net(batch["x"])
        loss = cross_entropy(outputs, batch["y"])
        self.shown = {result}
        {added}
        return loss

    def on_validation_epoch_end(self):
        self.log_dict(self.shown)
"""
RESULT = 'self.metric(outputs, batch["y"])'


@pytest.mark.parametrize(
    ("metric", "result", "added", "is_reported"),
    [
        ("MetricCollection", RESULT, 'self.shown["loss"] = loss', True),
        ("ClasswiseWrapper", RESULT, 'self.shown["loss"] = loss', True),
        ("MetricCollection", "self.metric.compute()", 'self.shown["loss"] = loss', True),
        ("MetricCollection", "self.metric.clone().compute()", 'self.shown["loss"] = loss', True),
        ("MetricCollection", RESULT, 'self.shown["loss"] = self.all_gather(loss).mean()', False),
        ("MetricCollection", RESULT, "pass", False),
        ("MetricCollection", "self.metric.compute()", "pass", False),
        ("Accuracy", "self.metric.compute()", "pass", False),
    ],
)
def test_what_is_added_to_the_results_of_a_collection_stays_the_own_one(metric, result, added, is_reported):
    assert metrics(COLLECTED.format(metric=metric, result=result, added=added)) == ({"loss"} if is_reported else set())
