"""TRL003: a metric that is shown after a loop whose method evaluates."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL003")
VALIDATES = """\
import logging

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

LOG = logging.getLogger(__name__)


class Trainer:
    def __init__(self, model, rows):
        self.model = DistributedDataParallel(model)
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows), batch_size=8)

    def loss_of(self, batch):
        {without_gradients}:
            loss = self.model(batch["x"]).mean()
        {trains}
        return loss.item()

    def run(self):
        total = 0.0
        for batch in self.loader:
            total += self.{called}(batch)
        LOG.info({{"loss": round(total / len(self.loader), 3)}})

    def through(self, batch):
        return self.loss_of(batch)
"""


@pytest.mark.parametrize(
    ("without_gradients", "trains", "called", "speaks"),
    [
        ("with torch.no_grad()", "pass", "loss_of", True),
        ("with torch.inference_mode()", "pass", "through", True),
        ("if True", "pass", "loss_of", False),
        ("with torch.no_grad()", "self.trained.loss(batch).backward()", "loss_of", False),
        ("with torch.no_grad()", "self.trained.loss(batch).backward()", "through", False),
        ("with torch.no_grad()", "pass", "foreign", False),
    ],
)
def test_a_loop_whose_method_turns_gradients_off_evaluates(without_gradients, trains, called, speaks):
    text = VALIDATES.format(without_gradients=without_gradients, trains=trains, called=called)
    assert bool(SNIPPETS.findings(text)) is speaks
