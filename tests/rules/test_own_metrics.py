"""TRL006: a metric of the project's own, of which another file may make one that does not ask the other ranks."""

from __future__ import annotations

import pytest

from trl_lint import api
from trl_lint.settings import Settings

METRIC = """\
import torch
from torchmetrics import Metric


class Rate(Metric):
    def __init__(self, **options):
        super().__init__(**options)
        self.add_state("hits", default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, batch):
        self.hits += batch

    def compute(self):
        return self.hits / 2
"""
MADE = "from rate import Rate\n\n\ndef made():\n    return Rate({})\n"
TRAIN = """\
import torch.distributed as dist
from made import made

dist.init_process_group("nccl")
rate = made()
rate.update(dist.get_rank())
if dist.get_rank() == 0:
    print(rate.compute())
"""


@pytest.mark.parametrize(("options", "lines"), [("", [8]), ("sync_on_compute=False", [])])
def test_whether_all_ranks_meet_in_its_compute_depends_on_how_it_is_made(tmp_path, options, lines):
    (tmp_path / "rate.py").write_text(METRIC)
    (tmp_path / "made.py").write_text(MADE.format(options))
    (tmp_path / "train.py").write_text(TRAIN)
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL006",)))
    assert [each.start.line for each in findings] == lines
