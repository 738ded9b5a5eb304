"""TRL002 on code that takes the place of the wrapper's own methods, and reads what they read."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

SCRIPT = """\
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def steps(self, batch):
        return self.head(batch)

    _steps = steps


def run(self, batch):
    {read}
    return self.module.steps(batch)


def train(rank, loader):
    torch.distributed.init_process_group("nccl")
    model = DDP(Net().to(rank), device_ids=[rank])
    for batch in loader:
        run(model, batch).backward()
"""


@pytest.mark.parametrize(
    ("read", "is_reported"),
    [
        ("self._sync_buffers()", False),
        ("if self._check_sync_bufs_pre_fwd():\n        self._sync_buffers()", False),
        ("inner = self._replicated_tensor_module if self._use_replicated_tensor_module else self.module", False),
        ("print(self.steps(batch))", True),
        ("print(self._steps(batch))", True),
    ],
)
def test_a_copy_of_the_forward_of_a_wrapper_calls_what_the_wrapper_has(read, is_reported):
    assert bool(SNIPPETS.findings(SCRIPT.format(read=read))) is is_reported
