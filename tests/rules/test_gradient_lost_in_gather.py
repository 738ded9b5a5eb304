"""TRL029: which losses are computed from gathered copies without a gradient, and the message."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets, shown

from trl_lint.findings import Consequence

SNIPPETS = Snippets("TRL029")
PROGRAM = """\
import torch
import torch.distributed as dist
import torch.nn.functional as F
from accelerate import Accelerator
from lightning import LightningModule
from torch import nn
from transformers import Trainer

def gather_rows(x):
    rows = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    return torch.cat(rows, dim=0)

def gather_own(x):
    rows = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    rows[dist.get_rank()] = x
    return torch.cat(rows, dim=0)

def gather_into(x):
    rank = dist.get_rank()
    rows = torch.empty(dist.get_world_size() * x.size(0), *x.shape[1:], device=x.device)
    dist.all_gather_into_tensor(rows, x)
    rows[rank * x.size(0) : (rank + 1) * x.size(0)] = x
    return rows

def gather_around(x):
    rank = dist.get_rank()
    rows = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    return torch.cat(rows[:rank] + [x] + rows[rank + 1 :])

def gather_others(x):
    rows = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    return torch.cat([x, *(row for number, row in enumerate(rows) if number != dist.get_rank())])

class GatherLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        rows = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(rows, x)
        return tuple(rows)

    @staticmethod
    def backward(ctx, *gradients):
        stacked = torch.stack(gradients)
        dist.all_reduce(stacked)
        return stacked[dist.get_rank()]

@torch.no_grad()
def without_gradient(x):
    return gather_rows(x)

class OverAll(nn.Module):
    def forward(self, images, texts):
        scores = gather_rows(images) @ gather_rows(texts).T
        return F.cross_entropy(scores, torch.arange(len(scores), device=scores.device))

class OverOwn(nn.Module):
    def forward(self, images, texts):
        scores = gather_own(images) @ gather_own(texts).T
        return F.cross_entropy(scores, torch.arange(len(scores), device=scores.device))

def apart(rows):
    return F.mse_loss(rows, rows.roll(1, 0))

def main(model, optimizer, loader, flag):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    over_all, over_own = OverAll(), OverOwn()
    for batch in loader:
        output = model(**batch)
        loss, images, texts = output.loss, output.images, model.texts(**batch)
        texts = model(**batch["texts"])
"""


def program(*lines: str) -> str:
    return PROGRAM + indent("\n".join((*lines, "accelerator.backward(loss)", "optimizer.step()\n")), " " * 8)


def test_a_finding_is_at_the_collective():
    text = program("rows = accelerator.gather(images)", "loss = apart(rows)")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "accelerator.gather(images)"
    assert finding.message == (
        "what this gathers of `images` are copies without a gradient, this rank's own rows among them: on several GPUs "
        "the loss that is computed from them trains nothing"
    )
    assert [each.text for each in finding.because] == ["the loss"]
    assert finding.help.startswith("gather with `torch.distributed.nn.functional.all_gather`")
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.fix is None or not finding.fix.edits


@pytest.mark.parametrize(
    "lines",
    [
        ("rows = accelerator.gather_for_metrics(images)", "loss = -rows.mean()", "loss = loss * 2"),
        ("loss = accelerator.gather(loss).mean()",),
        ("loss = apart(gather_rows(images))",),
        ("if flag:", "    images = accelerator.gather(images)", "loss = apart(images)"),
        ("loss = over_all(images, texts)",),
        ("from accelerate.utils.operations import _gpu_gather", "loss = apart(_gpu_gather(images))"),
    ],
)
def test_a_loss_of_copies_alone(lines):
    assert "trains nothing" in SNIPPETS.finding(program(*lines)).message


@pytest.mark.parametrize(
    "lines",
    [
        ("scores = images @ accelerator.gather(texts).T", "loss = F.cross_entropy(scores, batch['labels'])"),
        ("loss = loss + 0.1 * apart(accelerator.gather(images))",),
        ("loss = loss - accelerator.gather(images).mean()",),
        ("loss = (images @ accelerator.gather(images).T).mean()",),  # trained, by the other factor
    ],
)
def test_a_part_of_a_loss(lines):
    assert "has no gradient through them" in SNIPPETS.finding(program(*lines)).message


@pytest.mark.parametrize(
    "lines",
    [
        ("print(accelerator.gather(loss).mean().item())",),
        ("loss = apart(gather_own(images))",),
        ("loss = apart(gather_into(images))",),
        ("loss = apart(gather_around(images))",),
        ("loss = apart(gather_others(images))",),
        ("loss = over_own(images, texts)",),
        ("loss = apart(torch.cat(GatherLayer.apply(images)))",),
        ("loss = apart(torch.cat(dist.nn.functional.all_gather(images)))",),
        ("loss = loss / accelerator.gather(loss).mean()",),
        ("loss = loss * accelerator.reduce(loss)",),
        ("loss = F.mse_loss(images, accelerator.gather(images.detach())[: len(images)])",),
        ("loss = F.mse_loss(images, without_gradient(texts)[: len(images)])",),
        ("with torch.no_grad():", "    rows = accelerator.gather(images)", "loss = (images @ rows.T).mean()"),
        ("with torch.no_grad():", "    texts = model(**batch)", "loss = (images @ accelerator.gather(texts).T).mean()"),
        ("labels = accelerator.gather(batch['labels'])", "loss = F.cross_entropy(images, labels[: len(images)])"),
        ("guess = accelerator.gather(images).argmax(-1)", "loss = loss * (guess == 1).float().mean()"),
        ("rows = accelerator.reduce(images)", "loss = loss + apart(rows)"),
    ],
)  # fmt: skip
def test_quiet(lines):
    assert SNIPPETS.findings(program(*lines)) == []


STEP = """\

class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    def training_step(self, batch, index):
        features = self.net(batch["x"])
        rows = self.all_gather(features{sync})
        loss = apart(rows.flatten(0, 1))
        return loss
"""
LOSS = """\

class Contrastive(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        output = model(**inputs)
        rows = self.accelerator.gather(output.pooler_output)
        loss = apart({rows})
        return (loss, output) if return_outputs else loss
"""


def test_losses_that_a_library_trains_with():
    assert SNIPPETS.finding(PROGRAM + "        pass\n" + STEP.format(sync="")).start.line
    assert SNIPPETS.finding(PROGRAM + "        pass\n" + LOSS.format(rows="rows")).start.line
    assert SNIPPETS.findings(PROGRAM + "        pass\n" + STEP.format(sync=", sync_grads=True")) == []
    assert SNIPPETS.findings(PROGRAM + "        pass\n" + LOSS.format(rows="output.pooler_output")) == []


RETURNED = """\

class Dicts(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    def training_step(self, batch, index):
        features = self.net(batch["x"])
        rows = self.all_gather(features)
        own, other = apart(features), apart(rows)
        {lines}

class Tuples(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        output = model(**inputs)
        rows = self.accelerator.gather(output.logits)
        return {pair}
"""


@pytest.mark.parametrize(
    ("lines", "pair", "expected"),
    [
        ('return {"loss": own, "rows": rows}', "(output.loss, rows)", 0),
        ('return {"loss": own, "rows": rows}', "(apart(rows), rows)", 1),
        ('return {"loss": other, "rows": rows}', "(output.loss, {'rows': rows})", 1),
        ('out = {"loss": own}; out["rows"] = rows; return out', "(output.loss, rows)", 0),
        ('out = {"rows": rows}; out["loss"] = other; return out', "(apart(rows), rows)", 2),
    ],
)
def test_only_the_loss_of_what_is_returned_is_trained_with(lines, pair, expected):
    text = PROGRAM + "        pass\n" + RETURNED.replace("{lines}", lines).replace("{pair}", pair)
    assert len(SNIPPETS.findings(text)) == expected


def test_one_process_and_tests_are_left_out():
    one = program("loss = apart(accelerator.gather(images))").replace("Accelerator()", "Accelerator(cpu=True)")
    assert len(SNIPPETS.findings(one)) == 1  # several processes may be on the CPU
    test = "\ndef test_it(model, batch):\n    loss = apart(gather_rows(model(batch)))\n    loss.backward()\n"
    assert SNIPPETS.findings(PROGRAM + "        pass\n" + test) == []
