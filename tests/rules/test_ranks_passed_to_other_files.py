"""The rank of a process, by what a file passes to a function of another file that starts the process group."""

import pytest

from trl_lint import api
from trl_lint.settings import Settings

STARTS = """\
import torch
import torch.distributed as dist


def start(size, number):
    torch.cuda.set_device(number % torch.cuda.device_count())
    dist.init_process_group("nccl", init_method="tcp://localhost:5000", world_size=size, rank=number)


def start_indirectly(number, size=2):
    start(size, int(number))


def start_second(size, node, here=0):
    node = node * torch.cuda.device_count() + here
    dist.init_process_group("nccl", world_size=size, rank=node)


def seed(size, number):
    torch.manual_seed(number)
"""
TRAIN = """\
import argparse

import torch
import torch.distributed as dist
{imported}


def train(size, me):
    {call}
    if me == 0:
        dist.all_reduce(torch.zeros(1).cuda())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--me", type=int, default=0)
    args = parser.parse_args()
    train(args.size, args.me)
"""


@pytest.mark.parametrize(
    ("imported", "call", "is_reported"),
    [
        ("from starts import start", "start(size, me)", True),
        ("from starts import start", "start(number=me, size=size)", True),
        ("from starts import start_indirectly", "start_indirectly(me)", True),
        ("import starts", "starts.start(size, me)", True),
        ("import starts as group", "group.start(size, me)", True),
        ("from starts import *", "start(size, me)", True),
        # The number of processes is passed, or a number that only leads to the rank, or to a function of another kind.
        ("from starts import start", "start(me, size)", False),
        ("from starts import start", "start(size, 0)", False),
        ("from starts import start_second", "start_second(size, me)", False),
        ("from starts import seed", "seed(size, me)", False),
        ("from starts import start", "start(*args)", False),
        ("import starts", "args.start(size, me)", False),
        ("from starts import seed\n\n\ndef start(size, number):\n    seed(size, number)", "start(size, me)", False),
    ],
)
def test_what_is_passed_to_a_function_that_starts_the_group(imported, call, is_reported, tmp_path):
    (tmp_path / "starts.py").write_text(STARTS)
    text = TRAIN.format(imported=imported, call=call)
    (tmp_path / "train.py").write_text(text)
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL006",)))
    found = [text.splitlines()[each.start.line - 1].strip() for each in findings]
    assert found == ["dist.all_reduce(torch.zeros(1).cuda())"] * is_reported
