"""TRL003: a metric that is shown after a loop whose method evaluates."""

from __future__ import annotations

import pytest
from small_projects import found, written
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


SHOWS = """\
import torch
import torch.distributed as dist
from scores import score
from steps import run
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def show(model, loader, optimizer):
    total = 0.0
    for batch, labels in loader:
        answers = run(model, batch, labels, optimizer)
        total += score(model, answers, labels).item()
    if dist.get_rank() == 0:
        print(f"score {total / len(loader):.3f}")


dist.init_process_group("nccl")
rows = torch.load("rows.pt")
loader = DataLoader(rows, sampler=DistributedSampler(rows))
show(DistributedDataParallel(torch.load("model.pt")), loader, None)
"""
SCORES = """\
import torch


@torch.no_grad()
def score(model, answers, labels):
    return ({} == labels).float().mean()
"""
RUNS = (
    "from more import go\n\n\ndef run(model, batch, *more):\n    answers = model(batch)\n    {}\n    return answers\n"
)
MORE = "def go(answers, labels, optimizer):\n    (answers - labels).mean().backward()\n    optimizer.step()\n"


@pytest.mark.parametrize(
    ("inner", "scored", "speaks"),
    [
        ("go(answers, *more)", "model(answers)", False),
        ("pass", "model(answers)", True),
        ("pass", "model.generate(answers)", True),
        ("pass", "answers", False),  # a metric of training, perhaps
    ],
)
def test_what_a_function_of_another_file_calls_may_train(inner, scored, speaks, tmp_path):
    files = {"show.py": SHOWS, "scores.py": SCORES.format(scored), "steps.py": RUNS.format(inner), "more.py": MORE}
    assert (("show.py", 15, "TRL003") in found(written(tmp_path, files))) is speaks
