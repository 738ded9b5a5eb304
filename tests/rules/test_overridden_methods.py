"""TRL002: what a method of a base does to an attribute does not count in classes that override the method."""

import pytest
from small_projects import found, written

CLASSES = """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Base:
    def __init__(self, net):
        self.net = net.cuda()
        self.setup()

    def setup(self):
        dist.init_process_group("nccl")
        self.raw = self.net
        self.net = DistributedDataParallel(self.net)

    def depth(self):
        return self.raw.depth


class Heir(Base):
    {setup}

    def scale(self):
        return self.{name}.scale
"""
MAIN = """\
import sys

from torch import nn

from classes import Base, Heir


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 4
        self.scale = 2.0
        self.body = nn.Linear(2, 2)


if "--heir" in sys.argv:
    print(Heir(Net()).scale())
else:
    print(Base(Net()).depth())
"""


def codes(folder, setup: str, name: str) -> list[str]:
    files = {"classes.py": CLASSES.format(setup=setup, name=name), "main.py": MAIN}
    return [code for _, _, code in found(written(folder, files))]


ALONE = "def setup(self):\n        self.raw = self.net"


@pytest.mark.parametrize("name", ["net", "raw"])
def test_an_heir_with_a_setup_of_its_own_has_the_bare_model(tmp_path, name):
    assert codes(tmp_path, ALONE, name) == []


@pytest.mark.parametrize(
    "setup",
    [
        "def setup(self):\n        super().setup()",
        "def reset(self):\n        super().setup()\n\n    def setup(self):\n        self.reset()",
        "def other(self):\n        self.raw = self.net",
        f"{ALONE}\n        self.net = DistributedDataParallel(self.net)",
    ],
)
def test_an_heir_for_which_the_method_runs_has_the_wrapper(tmp_path, setup):
    assert codes(tmp_path, setup, "net") == ["TRL002"]
