"""TRL009: a part of a model that is frozen but for a part with some word in its name gives features only."""

import pytest
from snippets import Snippets

PROGRAM = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.probe_of_age = {made}

    def embed(self, x):
        return {embedded}

    def forward(self, x):
        return self.probe_of_age(self.embed(x))

class Trainer:
    def __init__(self, loader, optimizer):
        self.model = DDP(Net().cuda())
        self.loader, self.optimizer = loader, optimizer
        for name, parameter in self.model.named_parameters():
            {frozen}

    def train(self):
        for x, y in self.loader:
            features = self.model.module.embed(x)
            loss = F.cross_entropy({out}, y)
            loss.backward()
            self.optimizer.step()

    def later(self):
        {later}
"""
GIVEN = {
    "made": "nn.Linear(8, 2)",
    "embedded": "self.body(x)",
    "frozen": "if 'probe' not in name: parameter.requires_grad = False",
    "out": "self.model.module.probe_of_age(features)",
    "later": "pass",
}
FEATURES, OUT = 27, 28


def lines(**changed: str) -> list[int]:
    return [each.start.line for each in Snippets("TRL009").findings(PROGRAM.format(**{**GIVEN, **changed}))]


@pytest.mark.parametrize(
    "frozen",
    [
        GIVEN["frozen"],
        "if 'probe' not in name: parameter.requires_grad_(False)",
        "parameter.requires_grad = 'probe' in name",
    ],
)
def test_features_need_no_gradients_and_the_trained_part_does(frozen):
    assert lines(frozen=frozen) == [OUT]


@pytest.mark.parametrize(
    "kept", ["if 'probe' in name: continue\n            ", "if 'probe' in name: print(name)\n            else: "]
)
def test_what_is_frozen_is_all_that_the_loop_does_not_keep(kept):
    assert lines(frozen=f"{kept}parameter.requires_grad = False") == [OUT + 1]


def test_features_are_computed_where_the_trained_part_is_called():
    assert lines(out="self.model.module.probe_of_age(self.model.module.embed(x))") == [OUT]


@pytest.mark.parametrize(
    "changed",
    [
        {"frozen": "pass"},
        {"frozen": "if 'probe' in name: parameter.requires_grad = False"},
        {"frozen": "parameter.requires_grad = 'probe' not in name"},
        {"frozen": "if 'weight' not in name: parameter.requires_grad = False"},
        {"frozen": "if 'other' not in name: parameter.requires_grad = False"},
        {"embedded": "self.body(x) + self.probe_of_age(x).mean()"},
        {"later": "self.model.module.body.requires_grad_(True)"},
        {"made": "load(8)"},
    ],
)
def test_features_have_gradients(changed):
    assert FEATURES in lines(**changed)


def test_without_a_trained_part_the_word_may_be_in_the_names_of_all_parts():
    assert FEATURES in lines(out="features")
