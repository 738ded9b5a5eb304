"""TRL002: a constant of another file that says how many processes there are, whatever its name."""

import pytest
from small_projects import found, written

CONSTANTS = """\
import os

WORLD = {world}
MANY = WORLD > 1
"""
TASK = """\
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from constants import MANY, WORLD


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 4
        self.body = nn.Linear(2, 2)


class Task:
    def __init__(self):
        self.net = Net().cuda()
        if dist.is_initialized():
            self.net = DistributedDataParallel(self.net)

    def depth(self):
        {read}
        return 0
"""
MAIN = """\
import os

import torch.distributed as dist

from task import Task

if "RANK" in os.environ:
    dist.init_process_group("nccl")
print(Task().depth())
"""
OF_LAUNCHER = 'int(os.environ.get("WORLD_SIZE", 1))'


@pytest.mark.parametrize(
    ("world", "read", "is_reported"),
    [
        (OF_LAUNCHER, "if WORLD == 1:\n            return self.net.depth", False),
        (OF_LAUNCHER, "if not WORLD > 1:\n            return self.net.depth", False),
        (OF_LAUNCHER, "if not MANY:\n            return self.net.depth", False),
        (OF_LAUNCHER, "if WORLD > 1:\n            return self.net.depth", True),
        (OF_LAUNCHER, "if MANY:\n            return self.net.depth", True),
        ("1", "if WORLD == 1:\n            return self.net.depth", True),
    ],
)
def test_it_decides_about_the_wrapper(tmp_path, world, read, is_reported):
    files = {"constants.py": CONSTANTS.format(world=world), "task.py": TASK.format(read=read), "main.py": MAIN}
    codes = [code for _, _, code in found(written(tmp_path, files))]
    assert codes == ["TRL002"] * is_reported
