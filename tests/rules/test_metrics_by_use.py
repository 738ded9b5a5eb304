"""TRL006: a metric of torchmetrics that is made elsewhere is known where its result is taken and it is reset."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")
CALLBACK = """\
{imported}
from transformers import TrainerCallback


class Logs(TrainerCallback):
    def __init__(self, metrics):
        self.metrics = metrics

    def on_step_end(self, args, state, control, **kwargs):
        for metric in self.metrics:
            {body}
"""
TAKEN = "if state.is_world_process_zero:\n                print(metric.compute())\n                metric.reset()"


def places(body: str = TAKEN, imported: str = "from torchmetrics import Metric") -> list[str]:
    return SNIPPETS.places(CALLBACK.format(body=body, imported=imported))


@pytest.mark.parametrize("imported", ["import torchmetrics", "from torchmetrics.classification import Accuracy"])
def test_all_ranks_take_its_result(imported):
    assert places(imported=imported) == ["metric.compute()"]


@pytest.mark.parametrize(
    ("body", "imported"),
    [
        (TAKEN, "import evaluate"),
        (TAKEN, "import torchmetrics\nALONE = {'sync_on_compute': False}"),
        (TAKEN.replace("metric.reset()", "metric.clear()"), "import torchmetrics"),
        (TAKEN.replace("metric.reset()", "state.reset()"), "import torchmetrics"),
        (TAKEN.replace("metric.compute()", "metric.compute(state)"), "import torchmetrics"),
        (TAKEN.replace("state.is_world_process_zero", "state.global_step % 5 == 0"), "import torchmetrics"),
        ("print(metric.compute())\n            metric.reset()", "import torchmetrics"),
    ],
)
def test_others_and_what_all_ranks_do(body, imported):
    assert places(body, imported) == []


OWN = """\
import torchmetrics
from accelerate import Accelerator


class Meter:
    def compute(self):
        return 1

    def reset(self):
        pass


accelerator = Accelerator()
meter = Meter()
if accelerator.is_main_process:
    print(meter.compute())
    meter.reset()
"""


def test_a_class_in_sight_is_what_it_is():
    assert SNIPPETS.findings(OWN) == []


KEPT = """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torchmetrics import MeanMetric


class Meter:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        self.total += value
{more}

class Method:
    def __init__(self, model, loader):
        self.model = DistributedDataParallel(model)
        self.loader = loader
        self.rank = dist.get_rank()

    def fit(self):
        for batch in self.loader:
            loss = self.model(batch)
            loss.backward()
            self.add(loss)
        self.validate()

    def validate(self):
        self.stats = None
        for batch in self.loader:
            self.add(self.model(batch), test=True)
        if {guard}:
            print({{name: each.{result} for name, each in self.stats.items()}})
        self.stats = None

    def add(self, found, test=False):
        if self.stats is None:
            kind = {kind}
            self.stats = {{name: kind() for name in found.keys()}}
        for name, value in found.items():
            self.stats[name].update(value.item())
"""
EITHER = "MeanMetric if test else Meter"
OWN_RESULT = "\n    def compute(self):\n        return self.total\n"


@pytest.mark.parametrize(
    ("kind", "guard", "result", "more", "is_reported"),
    [
        ("MeanMetric", "self.rank == 0", "compute()", "", True),
        # Of the two, only the metric has the method.
        (EITHER, "self.rank == 0", "compute()", "", True),
        (EITHER, "self.rank == 0", "compute()", OWN_RESULT, False),
        (EITHER, "self.rank == 0", "total", "", False),
        (EITHER, "self.loader", "compute()", "", False),
        ("Meter", "self.rank == 0", "compute()", OWN_RESULT, False),
        ("Meter", "self.rank == 0", "compute()", "", False),
    ],
)
def test_metrics_that_another_method_puts_into_an_attribute(kind, guard, result, more, is_reported):
    text = KEPT.format(kind=kind, guard=guard, result=result, more=more)
    assert SNIPPETS.places(text) == ["each.compute()"] * is_reported
