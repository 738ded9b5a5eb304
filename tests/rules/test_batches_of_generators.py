"""TRL003 where a generator in another file hands the batches of an evaluation on, as loggers of progress do."""

from __future__ import annotations

import pytest

from trl_lint import api
from trl_lint.settings import Settings

TRACKED = """\
class Tracker:
    def log_every(self, loader, every):
        for index, batch in enumerate(loader):
            yield batch
            if index % every == 0:
                print(index, len(loader))
"""
PROGRAM = """\
import argparse
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from tracking import Tracker

@torch.no_grad()
def evaluate(model, loader):
    hits, count = 0, 0
    for images, labels in {batches}:
        hits += (model(images).argmax(1) == labels).sum().item()
        count += len(labels)
    total = torch.tensor(count, device="cuda")
    {reduced}
    dist.all_reduce(total)
    return hits / count

def main(args, rows, net):
    dist.init_process_group("nccl")
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    model = DistributedDataParallel(net.cuda())
    if args.test_only:
        print(evaluate(model, loader))
        return
    accuracy = evaluate(model, loader)
    print(f"accuracy {{accuracy}}")
"""


@pytest.mark.parametrize("batches", ["loader", "Tracker().log_every(loader, 10)"])
@pytest.mark.parametrize(
    ("reduced", "lines"),
    [("", [24, 27]), ("hits, count = torch.load('x')", []), ("if count > 9:\n        dist.all_reduce(total)", [])],
)
def test_the_loop_that_gets_them_is_the_evaluation(batches, reduced, lines, tmp_path):
    (tmp_path / "tracking.py").write_text(TRACKED)
    (tmp_path / "main.py").write_text(PROGRAM.format(batches=batches, reduced=reduced))
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL003",)))
    assert [each.start.line for each in findings] == lines
