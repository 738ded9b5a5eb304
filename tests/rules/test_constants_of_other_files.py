"""Constants of another file that say how many processes there are, whatever their name."""

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


EXTENSION = """\
import os

import torch.distributed as dist

my_rank = -1
my_size = {alone}


def start():
    global my_rank, my_size
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        dist.init_process_group("nccl")
        my_rank, my_size = dist.get_rank(), dist.get_world_size()
    else:
        my_rank, my_size = 0, 1


def barrier():
    if my_size > 1:
        dist.barrier()
"""
OTHERWISE = """

def start_otherwise():
    global my_size
    my_size = int(input())


start_otherwise()
"""
PROGRAM = """\
import torch.distributed as dist

import extension

extension.start()
extension.barrier()
if extension.my_rank == 0:
    extension.barrier()
"""


@pytest.mark.parametrize(
    ("extension", "is_reported"),
    [
        (EXTENSION.format(alone=-1), True),
        (EXTENSION.format(alone=1), True),
        (EXTENSION.format(alone=None), True),
        (EXTENSION.format(alone=8), False),
        (EXTENSION.format(alone=-1).replace("dist.get_world_size()", "count()"), False),
        (EXTENSION.format(alone=-1) + OTHERWISE, False),
        (EXTENSION.format(alone=-1).replace("my_size > 1", "my_size == 1"), False),
    ],
)
def test_the_start_of_the_processes_sets_their_number_in_its_file(extension, is_reported, tmp_path):
    folder = written(tmp_path, {"main.py": PROGRAM, "extension.py": extension})
    assert found(folder, ".") == [("main.py", 8, "TRL006")] * is_reported
