"""TRL002 where code allows for a dict or a list of models in the place of one model."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

SCRIPT = """\
import torch
from typing import Sequence
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def steps(self, batch):
        return self.head(batch)

    def keys(self):
        return ("head",)


class Trainer:
    def __init__(self, rank):
        torch.distributed.init_process_group("nccl")
        self.model = DDP(Net().to(rank), device_ids=[rank])

    def train(self, batch):
        model = self.model
        {test}
            {body}
        else:
            self.model.train()
        {after}
"""


@pytest.mark.parametrize("classes", ["dict", "(list, tuple)", "Sequence", "(dict, Sequence)"])
@pytest.mark.parametrize("subject", ["self.model", "model"])
def test_a_wrapped_model_is_no_container(classes, subject):
    test = f"if isinstance({subject}, {classes}):"
    assert not SNIPPETS.findings(SCRIPT.format(test=test, body=f"print({subject}.keys())", after="pass"))
    assert SNIPPETS.findings(SCRIPT.format(test=test, body="pass", after=f"print({subject}.steps(batch))"))


@pytest.mark.parametrize("test", ["if isinstance(self.model, nn.Module):", "if isinstance(batch, dict):", "if batch:"])
def test_other_tests_do_not_say_so(test):
    assert SNIPPETS.findings(SCRIPT.format(test=test, body="print(self.model.keys())", after="pass"))
