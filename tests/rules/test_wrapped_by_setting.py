"""TRL002: settings that the code computes from the one under which it wraps a model."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

PROGRAM = """\
import argparse

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 4
        self.body = nn.Linear(2, 2)


def shown(args, model):
    if args.several:
        model = model.module
    return model.depth


parser = argparse.ArgumentParser()
parser.add_argument("--{name}", type=int, default=1)
args = parser.parse_args()
args.several = {several}
model = Net().cuda()
if args.{name} > 1:
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
{use}
"""


def is_reported(name: str, use: str, several: str = "args.{name} > 1") -> bool:
    text = PROGRAM.format(name=name, use=use, several=several.format(name=name))
    return bool(SNIPPETS.findings(text))


@pytest.mark.parametrize("name", ["world_size", "workers"])
@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("print((model.module if args.several else model).depth)", False),
        ("if not args.several:\n    print(model.depth)", False),
        ("if args.several:\n    print(model.module.depth)\nelse:\n    print(model.depth)", False),
        ("print(shown(args, model))", False),
        ("if args.several:\n    print(model.depth)", True),
    ],
)
def test_a_setting_that_is_computed_from_it(name, use, found):
    assert is_reported(name, use) is found


def test_another_setting():
    assert is_reported("world_size", "if not args.several:\n    print(model.depth)", "args.world_size == 1")
    assert is_reported("world_size", "args.several = True\nif args.several:\n    print(model.depth)")
