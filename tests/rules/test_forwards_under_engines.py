"""TRL006: whether ranks that miss a forward pass leave the others waiting depends on the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from snippets import SETTINGS, Snippets

OF_TRAINER = """\
from transformers import Trainer

class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        loss = model(**inputs).loss
        if (inputs["kind"] == 1).sum() > 0:
            loss = loss + model(**inputs).loss
        return loss
"""
LOOP = """\
from accelerate import Accelerator

def main(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        if (batch["kind"] == 1).sum() > 0:
            loss = model(**batch).loss
            accelerator.backward(loss)
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("engines", "by_default"),
    [((), True), (("ddp",), True), (("deepspeed",), False), (("deepspeed-zero3",), True), (("deepspeed", "ddp"), True)],
)
def test_only_a_forward_is_missed(engines, by_default):
    finding = Snippets("TRL006", replace(SETTINGS, engines=engines)).finding(OF_TRAINER)
    assert "the forward pass of a wrapped model" in finding.message
    assert finding.by_default is by_default


@pytest.mark.parametrize("engines", [(), ("deepspeed",)])
def test_the_backward_pass_is_missed_too(engines):
    found = Snippets("TRL006", replace(SETTINGS, engines=engines)).findings(LOOP)
    assert [each.by_default for each in found] == [True]
