"""TRL002: a helper that wraps what has parameters leaves out a loss whose class has none."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

PROGRAM = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Loss(nn.Module):
    def __init__(self, margin=0.3, width: int = 2, other=None):
        super().__init__()
        self.margin = margin
        {more}

    def forward(self, x):
        return (x - self.margin).relu().mean()


def prepared(module, distributed):
    module = module.cuda()
    if distributed and {test}:
        module = DDP(module)
    return module


dist.init_process_group("nccl")
loss = prepared(Loss(), True)
print(loss.margin)
"""
TRAINED = "any(p.requires_grad for p in module.parameters())"


def is_reported(more: str = "pass", test: str = TRAINED) -> bool:
    return bool(SNIPPETS.findings(PROGRAM.format(more=more, test=test)))


@pytest.mark.parametrize(
    "more",
    [
        "self.weights = [1.0, -0.5 * width, self.margin]",
        "self.inner = nn.TripletMarginLoss(margin)",
        'self.register_buffer("centre", torch.zeros(width))',
        'self.reduction: str = "mean"',
        "width, margin = 1, 2",
    ],
)
def test_such_a_loss_stays_bare(more):
    assert not is_reported(more)


@pytest.mark.parametrize("test", ["any(True for _ in module.parameters())", "any([p for p in module.parameters()])"])
def test_other_spellings(test):
    assert not is_reported(test=test)


@pytest.mark.parametrize(
    "more",
    [
        "self.scale = nn.Parameter(torch.ones(width))",
        "self.body = nn.Linear(width, 1)",
        "self.other = other",
        'self.register_parameter("scale", other)',
        "self.one, self.other = margin, nn.Linear(width, 1)",
        'setattr(self, "other", other)',
        "self.parts = nn.ModuleList([])",
    ],
)
def test_what_may_have_parameters_is_wrapped(more):
    assert is_reported(more)


def test_the_helper_has_to_ask():
    assert is_reported(test="len(str(module)) > 4")
