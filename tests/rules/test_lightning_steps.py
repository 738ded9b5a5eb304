"""Steps of a LightningModule that ranks leave before a backward pass, or run one of different numbers of times."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets, shown

SNIPPETS = Snippets("TRL006")
MODULE = """\
import lightning as L


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, batch_idx):
        mask = batch["mask"]
        own = int(mask.sum())
{}
"""


def places(body: str) -> list[str]:
    return SNIPPETS.places(MODULE.format(indent(body, " " * 8)))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if mask.sum() == 0:\n    return\nself.manual_backward(self.loss(batch))", ["return"]),
        ("if self.trainer.num_devices > 1 and mask.sum() == 0:\n    return\nself.manual_backward(self.loss(batch))",
         ["return"]),
        ("if mask.sum() == 0:\n    return\nself.trainer.strategy.backward(self.loss(batch), None)", ["return"]),
        ("for i in range(own):\n    self.manual_backward(self.loss(batch, i))",
         ["self.manual_backward(self.loss(batch, i))"]),
        ("if batch_idx % 2:\n    return\nself.manual_backward(self.loss(batch))", []),
        ("if self.all_gather(mask.sum()).min() == 0:\n    return\nself.manual_backward(self.loss(batch))", []),
        ("if self.global_step < self.hparams.warm_up:\n    return\nself.manual_backward(self.loss(batch))", []),
        ("steps = int(self.all_gather(own).max())\nfor i in range(steps):\n"
         "    self.manual_backward(self.loss(batch, i))", []),
    ],
)  # fmt: skip
def test_all_ranks_make_each_backward_pass_of_a_step(body, found):
    assert places(body) == found


TURNS = """\
steps = int(self.all_gather(own).max())
for i in range({}):
    loss = self.loss(batch, i)
    {}
"""
BACKWARD = "self.manual_backward(loss)"


@pytest.mark.parametrize(
    ("loop", "body", "is_found"),
    [
        ("steps", "if i == own:\n        " + BACKWARD, False),
        ("steps", "if i == own - 1:\n        pass\n    else:\n        " + BACKWARD, False),
        ("steps", "if own <= i < own + 2:\n        " + BACKWARD, False),
        ("steps", "if i >= own and i < own + self.window:\n        " + BACKWARD, False),
        ("steps", "if i >= own and i < own + 2:\n        " + BACKWARD, False),
        ("own", "if i >= own - 2 and i < own - 2 + 2:\n        " + BACKWARD, False),
        ("own", "if i == own - 1:\n        " + BACKWARD, False),
        ("own", "if i != own - 1:\n        " + BACKWARD, True),
        ("steps", "if i < own:\n        " + BACKWARD, True),
        ("steps", "if own <= i < 3 * own:\n        " + BACKWARD, True),
        ("steps", "if i == own:\n        return\n    " + BACKWARD, True),
        # The others are in `all_gather` meanwhile.
        ("steps", "if i == own:\n        " + BACKWARD + "\n    self.all_gather(loss)", True),
    ],
)
def test_ranks_may_do_it_in_different_iterations_of_a_loop(loop, body, is_found):
    assert bool(places(TURNS.format(loop, body))) is is_found


FABRIC = """\
from lightning.fabric import Fabric


def train(net, loader):
    fabric = Fabric(devices=2)
    net = fabric.setup(net)
    for batch in fabric.setup_dataloaders(loader):
        loss = net(batch)
        if {}:
            continue
        fabric.backward(loss)
"""


@pytest.mark.parametrize(("test", "found"), [("batch.sum() == 0", ["continue"]), ("net.frozen", [])])
def test_a_backward_pass_of_fabric_is_made_by_all(test, found):
    assert SNIPPETS.places(FABRIC.format(test)) == found


AUTOMATIC = """\
import torch
import lightning as L
# logged with sync_dist elsewhere
{imported}

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = {automatic}

    def {hook}(self, batch, batch_idx):
        mask = batch["mask"]
        loss = self.loss(batch)
        if {test}:
            return {skipped}
        {left}
"""
PLAIN = {
    "imported": "from lightning.pytorch.strategies import DDPStrategy\nSTRATEGY = 'ddp'\n",
    "automatic": "True",
    "hook": "training_step",
    "test": "mask.sum() == 0",
    "skipped": "None",
    "left": "return loss",
}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, ["return"]),
        ({"skipped": ""}, ["return"]),
        ({"test": "torch.isnan(loss)"}, ["return"]),
        ({"test": "not mask.any()"}, ["return"]),
        ({"test": "batch is None"}, []),
        ({"test": "batch_idx > 3"}, []),
        ({"test": "self.hparams.frozen"}, []),
        ({"test": "self.all_gather(mask.sum()).min() == 0"}, []),
        ({"skipped": "loss * 0"}, []),
        ({"left": "self.log('loss', loss)"}, []),  # there is no backward pass in any case
        ({"hook": "validation_step"}, []),
        ({"hook": "helper"}, []),
        ({"automatic": "False"}, []),
        ({"imported": ""}, []),  # for one process, for all that the file says
    ],
)
def test_a_step_that_some_ranks_skip(changed, found):
    text = AUTOMATIC.format(**{**PLAIN, **changed})
    findings = SNIPPETS.findings(text)
    assert [shown(text, each).strip() for each in findings] == found
    assert all("do not reach the backward pass that Lightning starts" in each.message for each in findings)


def test_who_returns_no_loss_is_told_in_lightning_s_terms():
    finding = SNIPPETS.finding(AUTOMATIC.format(**PLAIN))
    assert [each.text for each in finding.because][-1] == (
        "the other ranks return a loss here, from which Lightning starts the backward pass"
    )
    assert finding.help.startswith("return a loss on every rank")
    assert finding.fix.title == "Return a loss on every rank"


OF_THE_MODEL = """\
import math
import torch
import lightning as L
STRATEGY = "ddp"


class Net(L.LightningModule):
    def training_step(self, batch, batch_idx):
        losses = self.net.compute(batch)
        loss = {loss}
        other = self.net.other(batch)
        if {test}:
            return None
        self.log("loss", loss)
        return {result}
"""


@pytest.mark.parametrize(
    ("test", "is_found"),
    [
        ("torch.isnan(loss)", True),
        ("not torch.isfinite(loss).all()", True),
        ("loss.isnan().any() or torch.isinf(loss)", True),
        ("math.isnan(loss.detach().item())", True),
        ("torch.isnan(other)", False),
        ("torch.isnan(loss) and self.skips", False),
        ("torch.isnan(loss) or self.skips", False),
        ("self.net.broken(loss)", False),
        ("loss is None", False),
    ],
)
def test_a_loss_of_any_origin_is_the_own_one_of_each_rank(test, is_found):
    text = OF_THE_MODEL.format(loss='losses["action"]', test=test, result="loss")
    findings = SNIPPETS.findings(text)
    assert bool(findings) is is_found
    assert all(
        each.because[0].text.endswith("asks for this rank's own loss, which the step returns") for each in findings
    )


@pytest.mark.parametrize(
    ("loss", "result", "is_found"),
    [
        ('losses["action"]', '{"loss": loss, "n": 1}', True),
        ('losses["action"]', "other", False),
        ('losses["action"]', '{"loss": other}', False),
        ('self.all_gather(losses["action"]).mean()', "loss", False),
        ('averaged(losses["action"])', "loss", False),
        ('losses["action"]\n        synchronise(loss)', "loss", False),
        ('losses["action"]\n        shown = averaged(loss)', "loss", True),
    ],
)
def test_what_the_step_returns_is_the_loss(loss, result, is_found):
    assert bool(SNIPPETS.findings(OF_THE_MODEL.format(loss=loss, test="torch.isnan(loss)", result=result))) is is_found


DRAWN = """\
import torch
import lightning as L
from torch.nn.functional import mse_loss
STRATEGY = "ddp"


class Net(L.LightningModule):
    def forward(self, batch):
        noise = torch.randn_like(batch["x"])
        return mse_loss(self.decoder(batch["x"] + noise), noise), noise

    def training_step(self, batch, batch_idx):
        loss, noise = self(batch)
        if {}.isnan():
            return None
        return loss
"""


@pytest.mark.parametrize(("tested", "is_sure"), [("loss", True), ("noise", False)])
def test_noise_that_is_drawn_for_a_loss_does_not_matter(tested, is_sure):
    assert any(each.by_default for each in SNIPPETS.findings(DRAWN.format(tested))) is is_sure


GUARDED = """\
import lightning as L


class Net(L.LightningModule):
    strategy = "ddp"

    def {name}(self, batch, batch_idx):
        try:
            {tried}
        except {error} as e:
            {handled}
        return loss
"""
OF_MEMORY = 'if "out of memory" in str(e):\n                return None\n            raise e'


@pytest.mark.parametrize(
    ("changed", "is_found"),
    [
        ({}, True),
        ({"error": "torch.cuda.OutOfMemoryError", "handled": "return None"}, True),
        ({"error": "Exception", "handled": "return"}, True),
        ({"tried": "return self.loss(batch)"}, True),
        ({"error": "KeyError", "handled": "return None"}, False),  # the same on all ranks
        ({"tried": "self.logger.log(batch)"}, False),
        ({"handled": "loss = self.nothing()"}, False),
        ({"handled": "if self.skips:\n                return None\n            raise e"}, False),
        ({"name": "validation_step"}, False),
        ({"name": "guarded"}, False),
        ({"name": "guarded", "after": "        return self.guarded(batch, batch_idx)"}, True),
        ({"name": "guarded", "after": "        out = self.guarded(batch, batch_idx)\n        return out"}, True),
        (
            {"name": "guarded", "after": "        out = self.guarded(batch, 0) or self.none()\n        return out"},
            False,
        ),
    ],
)
def test_a_step_that_an_error_on_some_ranks_skips(changed, is_found):
    parts = {"name": "training_step", "tried": "loss = self.loss(batch)", "error": "RuntimeError", "handled": OF_MEMORY}
    after = changed.pop("after", "")
    text = GUARDED.format(**{**parts, **changed})
    if after:
        text += f"\n    def training_step(self, batch, batch_idx):\n{after}\n"
    assert bool(SNIPPETS.findings(text)) is is_found
