"""TRL028: which schedules go by a metric of one rank, and the message."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets, shown

from trl_lint.findings import Consequence

SNIPPETS = Snippets("TRL028")
PROGRAM = """\
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau

def validate(model, loader):
    total = 0.0
    for batch in loader:
        total += model(**batch).loss.item()
    return total / len(loader)

def average(value):
    return value

def main(model, optimizer, loader, flag, epoch):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    scheduler = ReduceLROnPlateau(optimizer, patience=1)
    cosine = CosineAnnealingLR(optimizer, 3)
    for epoch in range(3):
        loss = validate(model, loader)
"""


def program(step: str) -> str:
    return PROGRAM + indent(step, " " * 8)


def test_a_finding_is_at_the_step():
    text = program("scheduler.step(loss)\n")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "scheduler.step(loss)"
    assert finding.message == (
        "`loss` is computed from this rank's own data, and each rank lowers its learning rate by it: on several GPUs "
        "the ranks train with different learning rates, and their models drift apart"
    )
    assert [each.text for each in finding.because][-1] == "returned by `validate`"
    assert finding.help == "reduce the metric over the ranks on all of them first, and pass the result"
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.by_default
    assert finding.fix is None or not finding.fix.edits


@pytest.mark.parametrize(
    "step",
    [
        "scheduler.step(metrics=loss)",
        "scheduler.step(validate(model, loader))",
        "scheduler = accelerator.prepare(scheduler)\nscheduler.step(loss)",
        "if flag:\n    scheduler.step(loss)",
        "if epoch > 1:\n    scheduler.step(-loss)",
    ],
)
def test_steps_by_the_metric_of_one_rank(step):
    assert len(SNIPPETS.places(program(step + "\n"))) == 1


@pytest.mark.parametrize(
    "step",
    [
        "scheduler.step(epoch)",
        "cosine.step()",
        "cosine.step(loss)",
        "scheduler.step(accelerator.gather(torch.tensor([loss])).mean().item())",
        "total = torch.tensor(loss)\ndist.all_reduce(total)\nscheduler.step(total.item())",
        "if accelerator.is_main_process:\n    scheduler.step(loss)",
        "scheduler.step(flag)",
    ],
)
def test_steps_that_all_ranks_make_alike(step):
    assert SNIPPETS.places(program(step + "\n")) == []


def test_what_may_have_been_reduced_has_to_be_asked_for():
    reducing = program("loss = helper(loss)\nscheduler.step(loss + validate(model, loader))\n").replace(
        "def average(value):\n    return value", "def helper(value):\n    dist.all_reduce(value)\n    return value"
    )
    assert not SNIPPETS.finding(reducing).by_default


def test_a_metric_that_is_reduced_to_one_rank():
    reduces = "total = torch.tensor(loss, device='cuda')\ndist.reduce(total, dst=0)\n"
    finding = SNIPPETS.finding(program(reduces + "scheduler.step(total.item() / 2)\n"))
    assert finding.message == (
        "only one rank has the result of the reduction in `total.item() / 2`, and each rank lowers its learning rate "
        "by it: on several GPUs the ranks train with different learning rates, and their models drift apart"
    )
    assert finding.by_default
    sent = program(reduces + "dist.broadcast(total, src=0)\nscheduler.step(total.item())\n")
    assert SNIPPETS.places(sent) == []
    on_one = program(reduces + "if dist.get_rank() == 0:\n    scheduler.step(total.item())\n")
    assert SNIPPETS.places(on_one) == []


TRAINS = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import CosineAnnealingLR

def train(model, optimizer, loader):
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()

def send_rate(optimizer):
    rate = [optimizer.param_groups[0]["lr"]]
    dist.broadcast_object_list(rate)
    optimizer.param_groups[0]["lr"] = rate[0]

def main(net, loader, flag, average):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = CosineAnnealingLR(optimizer, 3)
    warmup = CosineAnnealingLR(optimizer, 3)
    for epoch in range(3):
"""
ALL_TRAIN = "train(model, optimizer, loader)\n"


def test_a_schedule_that_one_rank_steps_alone():
    text = TRAINS + indent(ALL_TRAIN + "if rank == 0:\n    schedule.step()\n", " " * 8)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "schedule.step()"
    assert finding.message == (
        "only ranks where `rank == 0` is true make this step of the schedule: on several GPUs the ranks train with "
        "different learning rates, and their models drift apart"
    )
    assert finding.help == "make the step on all ranks, outside of this branch"


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        (ALL_TRAIN + "if rank == 0:\n    print(epoch)\n    if epoch > 1:\n        schedule.step()\n", True),
        ("for batch in loader:\n    model(batch).mean().backward()\nif rank == 0:\n    schedule.step()\n", True),
        (ALL_TRAIN + "schedule.step()\n", False),
        (ALL_TRAIN + "if flag:\n    schedule.step()\n", False),
        (ALL_TRAIN + "if rank == 0:\n    schedule.step()\nelse:\n    schedule.step()\n", False),
        (ALL_TRAIN + "if rank == 0:\n    schedule.step()\ndist.broadcast(rate, src=0)\n", False),
        # This rank trains alone, or nothing is trained.
        ("if rank == 0:\n    train(model, optimizer, loader)\n    schedule.step()\n", False),
        ("if rank == 0:\n    schedule.step()\n", False),
        (ALL_TRAIN + "if rank == 0:\n    other(schedule).step()\n", False),
        # All schedules of the branch, or a schedule of something else.
        (ALL_TRAIN + "if rank == 0:\n    schedule.step()\n    warmup.step()\n", True),
        (ALL_TRAIN + "if rank == 0:\n    average.step()\n    schedule.step()\n", False),
        (ALL_TRAIN + "if rank == 0:\n    shown = CosineAnnealingLR(flag, 3)\n    shown.step()\n", False),
        # The others step it as well, or are sent the rate.
        (ALL_TRAIN + "if rank == 0:\n    schedule.step()\nif rank != 0:\n    schedule.step()\n", False),
        (ALL_TRAIN + "if rank == 0:\n    schedule.step()\n    continue\nschedule.step()\n", False),
        (ALL_TRAIN + "if rank == 0:\n    schedule.step()\nsend_rate(optimizer)\n", False),
    ],
)
def test_whose_steps_are_made_by_all(body, is_reported):
    assert bool(SNIPPETS.findings(TRAINS + indent(body, " " * 8))) is is_reported


# --- rates that are set by hand in the hooks of a Trainer -------------------------------------------------

CALLBACK = """\
from transformers import TrainerCallback

class Guard(TrainerCallback):
    def on_log(self, args, state, control, logs=None, optimizer=None, model=None, **kwargs):
        loss = logs["loss"]
"""
LOWER = 'for group in optimizer.param_groups:\n    group["lr"] *= 0.5\n'


def callback(body: str) -> str:
    return CALLBACK + indent(body, " " * 8)


def test_a_rate_that_some_ranks_set():
    text = callback("if not state.is_world_process_zero:\n    return\n" + LOWER)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == 'group["lr"] *= 0.5'
    assert finding.message == (
        "each rank sets this learning rate by `not state.is_world_process_zero`, which differs between them: on "
        "several GPUs the ranks train with different learning rates, and their models drift apart"
    )
    assert finding.consequence is Consequence.WRONG_TRAINING


@pytest.mark.parametrize(
    "body",
    [
        "if state.is_world_process_zero:\n" + indent(LOWER, "    "),
        "if state.is_local_process_zero and loss > 3:\n    optimizer.param_groups[0]['lr'] = 1e-5\n",
        "import time\nif time.time() > self.end:\n" + indent(LOWER, "    "),
        "if state.is_world_process_zero:\n    for _, g in enumerate(optimizer.param_groups):\n        g['lr'] = 1\n",
        "if state.is_world_process_zero:\n" + indent(LOWER, "    ") + "self.show(loss)\nsuper().on_log(optimizer)\n",
    ],
)
def test_rates_of_some_ranks(body):
    assert len(SNIPPETS.places(callback(body))) == 1


@pytest.mark.parametrize(
    "body",
    [
        LOWER,
        "if loss > 3:\n" + indent(LOWER, "    "),
        "if unknown(loss):\n" + indent(LOWER, "    "),
        "if state.is_world_process_zero:\n    for group in optimizer.param_groups:\n        print(group['lr'])\n",
        "if state.is_world_process_zero:\n    for row in self.rows:\n        row['lr'] = 1\n",
        "if state.is_world_process_zero:\n    logs['lr'] = optimizer.param_groups[0]['lr']\n",
        "if state.is_world_process_zero:\n" + indent(LOWER, "    ") + LOWER,
        "if state.is_world_process_zero:\n" + indent(LOWER, "    ") + "self.broadcast(optimizer)\n",
        "if state.is_world_process_zero:\n" + indent(LOWER, "    ") + "self.share(optimizer)\n",
        "if state.is_world_process_zero:\n" + indent(LOWER, "    ") + "self.share(optimizer.param_groups)\n",
        "import os\nif os.path.exists(self.path):\n" + indent(LOWER, "    "),
        "import random\nif random.random() < 0.1:\n" + indent(LOWER, "    "),
    ],
)
def test_rates_that_all_ranks_have(body):
    assert SNIPPETS.places(callback(body)) == []


def test_a_class_whose_methods_are_not_known_to_run_on_all_ranks():
    text = callback("if state.is_world_process_zero:\n" + indent(LOWER, "    "))
    assert SNIPPETS.places(text.replace("(TrainerCallback)", "")) == []


@pytest.mark.parametrize(("value", "count"), [("loss.item()", 1), ("self.accelerator.gather(loss).mean().item()", 0)])
def test_a_rate_by_the_loss_of_a_rank(value, count):
    text = f"""\
from transformers import Trainer

class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        for group in self.optimizer.param_groups:
            group["lr"] = 1e-4 / {value}
        return loss
"""
    assert len(SNIPPETS.places(text)) == count
