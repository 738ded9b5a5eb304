"""What an object gets is followed into the `__init__` that its class inherits."""

import pytest
from snippets import Snippets

MODELS = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(torch.nn.Module):
    def forward(self, x):
        return x

    def predict(self, x):
        return x


class Base:
    def __init__(self, model):
        self.model = {kept}


class Validation(Base):
    def run(self, rows):
        return [self.model.predict(each) for each in rows]


def main(rows):
    dist.init_process_group("nccl")
    {made}
    Validation(model).run(rows)
"""


@pytest.mark.parametrize(
    ("kept", "made", "expected"),
    [
        ("model", "model = DDP(Net().cuda())", True),
        ("model", "model = Net().cuda()", False),
        ("model", "model = make(rows)", False),
        ("model.module", "model = DDP(Net().cuda())", False),
        ("Net()", "model = DDP(Net().cuda())", False),
        # Objects of the base class are others.
        ("model", "model = DDP(Net().cuda())\n    Base(Net())", True),
        ("model", "model = Net()\n    Base(DDP(Net().cuda()))", False),
    ],
)
def test_a_model_that_the_base_keeps_is_the_one_that_an_heir_is_made_with(kept, made, expected):
    assert bool(Snippets("TRL002").findings(MODELS.format(kept=kept, made=made))) is expected


FILES = """\
import os

import torch
import torch.distributed as dist


class Base:
    def __init__(self, folder):
        self.folder = folder
        {lines}


class Store(Base):
    def read(self):
        return torch.load(os.path.join(self.folder, "x.pt"))


def main(args):
    dist.init_process_group("nccl")
    {made}
"""


@pytest.mark.parametrize(
    ("lines", "made", "expected"),
    [
        ('torch.save({}, "x.pt")', "Store(args.out)", True),
        ("os.mkdir(folder)", 'Store("runs")', True),
        ("os.mkdir(folder)", 'Store(f"runs_{dist.get_rank()}")', False),
        ('torch.save({}, "x.pt")', "if dist.get_rank() == 0:\n        Store(args.out)", False),
        ("if dist.get_rank() == 0:\n            os.mkdir(folder)", 'Store("runs")', False),
    ],
)
def test_what_an_inherited_constructor_writes_each_rank_does_that_makes_an_heir(lines, made, expected):
    assert bool(Snippets("TRL008").findings(FILES.format(lines=lines, made=made))) is expected
