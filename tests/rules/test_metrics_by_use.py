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
