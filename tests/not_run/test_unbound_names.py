"""Code behind the read of a name that only other functions bind is not reported by default: it raises NameError."""

from __future__ import annotations

import pytest
from small_projects import found, written

PROGRAM = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
{imported}

def evaluate(model, loader):
    for batch in loader:
        several(model, batch)


def several(model, batch):
    {before}
    model(batch)
    print(model.beams[0])


def main(net, data):
    dist.init_process_group("nccl")
    evaluate(DistributedDataParallel(net.cuda()), data)


main(torch.nn.Linear(4, 1), torch.ones(8, 2, 4))
"""
REPORTED = [("train.py", 14, "TRL002")]


@pytest.mark.parametrize(
    ("before", "imported", "reported"),
    [
        ("size = loader.batch_size", "", []),
        ("print('size', len(loader))", "", []),
        ("with loader.lock(): pass", "", []),
        ("if loader.batch_size > 1: print(batch)", "", []),
        ("size = batch.size(0)", "", REPORTED),
        # They may not be read, or something may bind them.
        ("if batch.size(0) > 1: print(loader)", "", REPORTED),
        ("size = batch.size(0) or loader.batch_size", "", REPORTED),
        ("read = lambda: loader.batch_size", "", REPORTED),
        ("sizes = [len(loader) for loader in batch]", "", REPORTED),
        ("loader = [batch]; size = len(loader)", "", REPORTED),
        ("global loader; size = len(loader)", "", REPORTED),
        ("size = len(loader)", "loader = []", REPORTED),
        ("size = len(loader)", "from data import loader", REPORTED),
        ("size = len(loader)", "from data import *", REPORTED),
        ("size = len(loader)", "from elsewhere import *", REPORTED),
        ("size = len(loader)", "globals()['loader'] = []", REPORTED),
        # Whoever runs the file may bind what nothing in it does.
        ("size = len(unknown)", "", REPORTED),
    ],
)
def test_a_name_that_other_functions_bind(tmp_path, before, imported, reported):
    files = {"train.py": PROGRAM.format(before=before, imported=imported), "data.py": "loader = []\n"}
    project = written(tmp_path, files)
    assert [each for each in found(project) if each[2] == "TRL002"] == reported
