"""TRL003: what a store holds is no metric if only pictures are put into it."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL003")
PROGRAM = """\
import matplotlib
import torch
import wandb
from accelerate import Accelerator


class Logger:
    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.kept = {{}}

    def log(self, metrics):
        for name, value in metrics.items():
            {}

    def end(self):
        if self.accelerator.is_main_process:
            wandb.log(self.kept)


def train(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    logger = Logger(accelerator)
    for x, y in loader:
        predicted = model(x)
        loss = criterion(predicted, y)
        accelerator.backward(loss)
        logger.log({{"loss": {}, "accuracy": (predicted == y).float().mean()}})
    logger.end()
"""
KEEP = "\n                self.kept[name] = value"
FIGURE, PLOTLY = "isinstance(value, matplotlib.figure.Figure)", "isinstance(value, wandb.Plotly)"


@pytest.mark.parametrize(
    ("code", "speaks"),
    [
        (f"if {FIGURE}:{KEEP}", False),
        (f"if {FIGURE} or {PLOTLY}:{KEEP}", False),
        (f"if isinstance(value, (matplotlib.figure.Figure, wandb.Image)):{KEEP}", False),
        (f"if name in self.kept and {FIGURE}:{KEEP}", False),
        (f"if not {FIGURE}:{KEEP}", True),
        (f"if {FIGURE}:\n                continue\n            self.kept[name] = value", True),
        (f"if {FIGURE}:\n                value.tight_layout()\n            self.kept[name] = value", True),
        (f"if {FIGURE} or name in self.kept:{KEEP}", True),
        (f"if isinstance(value, (matplotlib.figure.Figure, torch.Tensor)):{KEEP}", True),
        (f"if isinstance(value, torch.Tensor):{KEEP}", True),
        ("self.kept[name] = value", True),
    ],
)
@pytest.mark.parametrize("loss", ["loss", "loss.item()", "1.0"])
def test_only_pictures_are_kept(code: str, speaks: bool, loss: str):
    text = PROGRAM.format(code, loss)
    lines = [text.splitlines()[each.start.line - 1] for each in SNIPPETS.findings(text)]
    assert ["logger.log(" in each for each in lines] == [True] * speaks


def test_a_picture_of_a_batch_is_this_ranks_own():
    text = """\
from accelerate import Accelerator
from PIL import Image
from torch.utils.data import DataLoader

accelerator = Accelerator()
for batch in accelerator.prepare(DataLoader(load())):
    image = batch["image"]
    if isinstance(image, Image.Image):
        if image.mean() > 3:
            accelerator.wait_for_everyone()
"""
    assert len(Snippets("TRL006").findings(text)) == 1
