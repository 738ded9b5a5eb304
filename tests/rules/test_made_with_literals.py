"""Methods that are only called on objects whose constructor got arguments for which it does not wrap the model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from snippets import SETTINGS

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule

RUNNER = """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(torch.nn.Linear):
    def flow(self, rows):
        return self(rows)


class Runner:
    def __init__(self, local_rank, several=False):
        self.net = Net(2, 2).cuda()
        if {test}:
            self.net = DDP(self.net, device_ids=[local_rank])

    def update(self, rows):
        self.net(rows).sum().backward()

    @torch.no_grad()
    def inner(self, rows):
        return self.net.flow(rows)

    def infer(self, rows):
        return self.inner(rows)
"""
TRAIN = """
import os
import torch
import torch.distributed as dist
from runner import Runner

dist.init_process_group("nccl")
model = Runner(int(os.environ["LOCAL_RANK"]), several=True)
model.{method}(torch.ones(2, 2))
"""
MEASURE = """
import torch
from torch.nn.parallel import DistributedDataParallel
from runner import Runner

model = {made}
for rows in torch.ones(4, 2, 2):
    print(model.infer(rows))
assert not isinstance(model.net, DistributedDataParallel)
"""


def defaults_in(folder, files):
    """Whether the findings in `runner.py` are in the default set, if all files are linted."""
    texts = {folder / name: text.encode() for name, text in files.items()}
    for path, text in texts.items():
        path.write_bytes(text)
    linter = Linter(replace(SETTINGS, root=folder), (folder,), (find_rule("TRL002"),))
    linter.prepare(texts.items())
    return [each.by_default for each in linter.check(folder / "runner.py", texts[folder / "runner.py"])]


@pytest.mark.parametrize(
    ("test", "made", "method", "by_default"),
    [
        ("local_rank != 9", "Runner(9)", "update", [False]),
        ("torch.cuda.is_available() and local_rank > 0", "Runner(several=False, local_rank=0)", "update", [False]),
        ("not (local_rank == 9)", "Runner(9)", "update", [False]),
        # The analysis itself tells such objects apart.
        ("local_rank != -1", "Runner(-1)", "update", []),
        ("torch.cuda.is_available() and local_rank >= 0", "Runner(several=False, local_rank=-1)", "update", []),
        ("local_rank is not None", "Runner(None)", "update", []),
        ("several", "Runner(0)", "update", []),
        # It is wrapped there, or may be.
        ("local_rank != -1", "Runner(0)", "update", [True]),
        ("several", "Runner(-1, True)", "update", [True]),
        ("local_rank >= 0 or several", "Runner(*given)", "update", [True]),
        ("local_rank != 9", "Runner(9) if given else Runner(rank)", "update", [True]),
        # The training calls it, too.
        ("local_rank != -1", "Runner(-1)", "infer", [True]),
        ("local_rank != -1", "Runner(-1)", "inner", [True]),
    ],
)
def test_a_method_of_objects_that_are_made_with_literals(test, made, method, by_default, tmp_path):
    files = {
        "train.py": TRAIN.format(method=method),
        "measure.py": MEASURE.format(made=made),
        "runner.py": RUNNER.format(test=test),
    }
    assert defaults_in(tmp_path, files) == by_default


def test_an_object_of_unknown_origin_may_have_a_wrapped_model(tmp_path):
    measure = MEASURE.format(made="Runner(9)") + "\n\ndef measured(model, rows):\n    return model.infer(rows)\n"
    files = {"train.py": TRAIN.format(method="update"), "measure.py": measure}
    files["runner.py"] = RUNNER.format(test="local_rank != 9")
    assert defaults_in(tmp_path, files) == [True]


KEEPER = """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(torch.nn.Linear):
    def flow(self, rows):
        return self(rows)


class Keeper:
    def __init__(self, rows, gpus=1):
        self.gpus = gpus
        self.net = Net(2, 2).cuda()
        if torch.cuda.is_available():
            if self.gpus > 1:
                self.net = torch.nn.DataParallel(self.net)
            else:
                self.net.cuda()
{more}

def measure(rows, given):
    {made}
    return keeper.net.flow(rows)
"""


@pytest.mark.parametrize(
    ("made", "more", "by_default"),
    [
        ("keeper = Keeper(rows, gpus=1)", "", [False]),
        ("keeper = Keeper(rows)", "", [False]),
        ("keeper = Keeper(rows, 1)\n    print(keeper.gpus)", "", [False]),
        ("keeper = Keeper(rows)", "    def mix(self):\n        self.net = amp.initialize(self.net)\n", [False]),
        # It is wrapped, or may be.
        ("keeper = Keeper(rows, gpus=4)", "", [True]),
        ("keeper = Keeper(rows, gpus=given)", "", [True]),
        ("keeper = Keeper(rows, **given)", "", [True]),
        ("keeper = Keeper(rows)\n    keeper = Keeper(rows, 2)", "", [True]),
        ("keeper = Keeper(rows)\n    for keeper in (keeper, Keeper(rows, 2)):\n        pass", "", [True]),
        ("keeper = Keeper(rows)", "    def use(self, gpus):\n        self.gpus = gpus\n", [True]),
        ("keeper = Keeper(rows)", "            self.gpus = torch.cuda.device_count()\n", [True]),
        ("keeper = Keeper(rows)", "    def wrap(self):\n        self.net = DDP(self.net)\n", [True]),
    ],
)
def test_a_model_of_an_object_that_is_made_with_literals(made, more, by_default, tmp_path):
    assert defaults_in(tmp_path, {"runner.py": KEEPER.format(made=made, more=more)}) == by_default
