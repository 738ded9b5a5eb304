"""TRL019: where a loop over steps starts a loader over, and which batches that code asks for are trained on."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets, shown

from trl_lint.findings import Applicability

SNIPPETS = Snippets("TRL019")
HEAD = """\
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

def main(rows, model, optimizer, args):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    batches = iter(loader)
    for step in range(args.steps):
"""
TAKEN = """\
try:
    batch = next(batches)
except StopIteration:
    batches = iter(loader)
    batch = next(batches)
"""
TRAINED = """\
optimizer.zero_grad()
loss = model(batch)
loss.backward()
optimizer.step()
"""


def program(body: str) -> str:
    return HEAD + indent(body, " " * 8)


def test_a_finding_is_where_the_loader_is_started_over():
    text = program(TAKEN + TRAINED)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "iter(loader)"
    assert finding.start.line == text[: text.index("except")].count("\n") + 2
    assert [each.text for each in finding.because] == [
        "a pass over the batches begins here",
        "the sampler is made here, and shuffles with the same seed until `set_epoch` tells it another epoch",
    ]
    assert "count the epochs, and call `sampler.set_epoch(epoch)` before this" in finding.help
    assert finding.fix.applicability is Applicability.DISPLAY
    assert finding.fix.reason == "nothing here counts the epochs"


@pytest.mark.parametrize(
    ("taken", "trained", "is_reported"),
    [
        (TAKEN.replace("StopIteration", "(StopIteration, KeyError)"), TRAINED, True),
        (TAKEN.replace(" StopIteration", ""), TRAINED, True),
        (TAKEN.replace("StopIteration", "KeyError"), TRAINED, False),
        (TAKEN.replace("next(batches)", "batches.next()"), TRAINED, True),
        # A new sampler of the same rows begins with epoch 0 again.
        (TAKEN.replace("iter(loader)", "iter(DataLoader(rows, sampler=DistributedSampler(rows)))"), TRAINED, True),
        (TAKEN.replace("iter(loader)", "iter(DataLoader(rows, sampler=DistributedSampler(draw())))"), TRAINED, False),
        ("batch = next(batches, None)\nif batch is None:\n    batches = iter(loader)\n    continue\n", TRAINED, True),
        ("if step % len(loader) == 0:\n    batches = iter(loader)\nbatch = next(batches)\n", TRAINED, True),
        ("if step == args.first:\n    batches = iter(loader)\nbatch = next(batches)\n", TRAINED, False),
        ("batch = next(iter(loader))\n", TRAINED, True),
        (TAKEN + "sampler.set_epoch(step)\n", TRAINED, False),
        (TAKEN, TRAINED.replace("loss = model(batch)", "x, *_ = batch\nout = model(x)\nloss = out.sum()"), True),
        (TAKEN, TRAINED.replace("loss = model(batch)\nloss", "model.set_input(batch)\nmodel"), True),
        (TAKEN, TRAINED.replace("model(batch)", "model(args)"), False),
        # A value that another one has replaced before.
        (TAKEN, "loss = model(batch)\n" + TRAINED.replace("model(batch)", "model(args)"), False),
        (TRAINED.replace("model(batch)", "model(args)"), TAKEN + "loss = model(batch)\n", False),
        # In the next turn, it is trained on.
        (TRAINED, TAKEN, True),
    ],
)
def test_what_is_asked_for(taken, trained, is_reported):
    assert len(SNIPPETS.findings(program(taken + trained))) == is_reported
