"""TRL002: tests of what `getattr(model, "module", None)` returns, which say whether there is a wrapper."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

PROGRAM = """\
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 4
        self.body = nn.Linear(2, 2)


{helper}


def main(several):
    model = Net().cuda()
    if several:
        model = DistributedDataParallel(model)
    {use}


dist.init_process_group("nccl")
main(len(sys.argv) > 1)
"""


def is_reported(use: str, helper: str = "") -> bool:
    return bool(SNIPPETS.findings(PROGRAM.format(helper=helper, use=use.replace("\n", "\n    "))))


INNER = 'inner = getattr(net, "module", None)'


@pytest.mark.parametrize(
    "lines",
    [
        [INNER, "return net if inner is None else strip(inner)"],
        [INNER, "return inner if inner is not None else net"],
        [INNER, "return inner if inner else net"],
        [INNER, "if inner is None:", "    return net", "return strip(inner)"],
        [INNER, "if inner is not None:", "    net = inner", "return net"],
        ['return net if getattr(net, "module", None) is None else net.module'],
        ['if (inner := getattr(net, "module", None)) is not None:', "    return inner", "return net"],
        ["while True:", f"    {INNER}", "    if inner is None:", "        return net", "    net = inner"],
    ],
)
def test_a_helper_that_unwraps_by_it_returns_a_bare_model(lines):
    assert not is_reported("print(strip(model).depth)", "\n    ".join(["def strip(net):", *lines]))


BOUND = 'inner = getattr(model, "module", None)\n'


@pytest.mark.parametrize(
    ("use", "found"),
    [
        (f"{BOUND}if inner is None:\n    print(model.depth)", False),
        (f"{BOUND}if inner is not None:\n    print(model.depth)", True),
        (f"{BOUND}if not inner:\n    print(model.depth)", False),
        (f"{BOUND}if inner:\n    print(model.depth)", True),
        # It has been asked of another model, or for something else.
        (f"{BOUND}model = DistributedDataParallel(Net())\nif inner is None:\n    print(model.depth)", True),
        ('other = getattr(model, "inputs", None)\nif other is None:\n    print(model.depth)', True),
    ],
)
def test_its_outcome_says_whether_there_is_a_wrapper(use, found):
    assert is_reported(use) is found
