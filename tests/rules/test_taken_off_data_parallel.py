"""TRL002: helpers that take a DataParallel off a model by a test of their own."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

PROGRAM = """\
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 4
        self.body = nn.Linear(2, 2)


def strip(model, depth=3):
    {lines}


def main():
    dist.init_process_group("nccl")
    model = {wrapped}
    print(strip(model).depth)


main()
"""


def is_reported(lines: list[str], wrapped: str) -> bool:
    return bool(SNIPPETS.findings(PROGRAM.format(lines="\n    ".join(lines), wrapped=wrapped)))


@pytest.mark.parametrize("wrapped", ["nn.DataParallel(Net())", "DistributedDataParallel(Net())"])
@pytest.mark.parametrize(
    "lines",
    [
        ['if model is not None and hasattr(model, "module") and depth:', "    return model.module", "return model"],
        ['if depth == 0 or not hasattr(model, "module"):', "    return model", "return strip(model.module, depth - 1)"],
        ["if type(model) is not Net:", "    model = model.module", "return model"],
        ['return model.module if type(model).__module__.startswith("torch.nn") else model'],
    ],
)
def test_the_test_knows_of_the_wrapper(lines, wrapped):
    assert not is_reported(lines, wrapped)


@pytest.mark.parametrize("wrapped", ["nn.DataParallel(Net())", "DistributedDataParallel(Net())"])
@pytest.mark.parametrize("lines", [["return model"], ["if depth:", "    model.module.eval()", "return model"]])
def test_what_is_not_taken_off_is_reported(lines, wrapped):
    assert is_reported(lines, wrapped)
