"""TRL002: a class that switches the wrapper of its base off, by a constant, has the bare model."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

PROGRAM = """\
import sys

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 4
        self.body = nn.Linear(2, 2)


class Task:
    several = True

    def __init__(self, net):
        self.net = net

    def setup(self, several=True):
        self.net = self.net.cuda()
        {wraps}


class Heir(Task):
    {own}

    def run(self):
        return self.net.depth


def train():
    dist.init_process_group("nccl")
    task = Task(Net())
    task.setup()


def evaluate(flag):
    task = Heir(Net())
    task.setup()
    print(task.run())


if __name__ == "__main__":
    evaluate(len(sys.argv) > 2) if "--eval" in sys.argv else train()
"""
BY_CLASS = "if self.several:\n            self.net = DDP(self.net)"
BY_PARAMETER = "if several:\n            self.net = DDP(self.net)"
BY_EXIT = "if not several:\n            return\n        self.net = DDP(self.net)"


def own_setup(argument: str) -> str:
    return f"def setup(self):\n        super().setup({argument})"


@pytest.mark.parametrize(
    ("wraps", "own", "is_reported"),
    [
        (BY_CLASS, "several = False", False),
        (BY_CLASS, "several = None", False),
        (BY_CLASS, "other = False", True),
        (BY_CLASS, "several = True", True),
        (BY_CLASS, "several = False\n\n    def switch(self):\n        self.several = True", True),
        (BY_PARAMETER, own_setup("False"), False),
        (BY_PARAMETER, own_setup("several=False"), False),
        (BY_EXIT, own_setup("False"), False),
        (BY_PARAMETER, own_setup("True"), True),
        (BY_PARAMETER, own_setup(""), True),
        (f"several = True\n        {BY_PARAMETER}", own_setup("False"), True),
    ],
)
def test_a_switch(wraps, own, is_reported):
    assert bool(SNIPPETS.findings(PROGRAM.format(wraps=wraps, own=own))) is is_reported
