"""A program whose process group is switched off by a constant is one process as shipped."""

from __future__ import annotations

import pytest
from started import by_default_in

PROGRAM = """
import argparse
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
rank = args.local_rank
ddp = False
if ddp:
    dist.init_process_group("nccl")
model = torch.nn.Linear(2, 2)
if rank == 0:
    torch.save(model.state_dict(), "best.pt")
open("losses.txt", "w")
"""
FLAG, GROUP = "ddp = False\n", '    dist.init_process_group("nccl")\n'


@pytest.mark.parametrize(
    ("text", "by_default"),
    [
        (PROGRAM, False),
        (PROGRAM.replace(FLAG, 'ddp = os.environ.get("DDP")\n'), True),
        (PROGRAM.replace(FLAG, FLAG + "ddp = args.local_rank > 0\n"), True),
        (PROGRAM.replace("if ddp:", "if not ddp:"), True),
        (PROGRAM.replace(GROUP, "    print(rank)\n"), True),
        (PROGRAM + "dist.init_process_group('gloo')\n", True),
    ],
)
def test_a_program_without_its_group_is_one_process(text, by_default, tmp_path):
    assert by_default_in(tmp_path, {"train.py": text}, "train.py") is by_default


@pytest.mark.parametrize(
    ("command", "by_default"),
    [
        ("python train.py", False),
        ("python train.py --local_rank 0", False),
        ("python train.py --local_rank 0 --world_size 2", True),
        ("python train.py --local_rank 0\npython train.py --local_rank 1", True),
        ("WORLD_SIZE=2 python train.py --local_rank 0", True),
        ("torchrun --nproc_per_node 2 train.py", True),
        ("torchrun --nproc_per_node 2 $SCRIPT", True),
        ("torchrun --nproc_per_node 2 other.py", False),
    ],
)
def test_launches_say_otherwise(command, by_default, tmp_path):
    files = {"train.py": PROGRAM, "README.md": f"```\n{command}\n```\n"}
    assert by_default_in(tmp_path, files, "train.py") is by_default


def test_the_first_rank_is_one_of_several_where_nothing_switches_the_group_off(tmp_path):
    files = {"train.py": PROGRAM.replace(FLAG, "ddp = True\n"), "run.sh": "python train.py --local_rank 0\n"}
    assert by_default_in(tmp_path, files, "train.py")


PART = """
import torch

def write(rank):
    open("losses.txt", "w")
    if rank == 0:
        torch.save({}, "best.pt")
"""
USES = PROGRAM.replace('open("losses.txt", "w")', "write(rank)").replace("import argparse", "from part import write")


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({}, False),
        ({"group.py": "def go():\n    dist.init_process_group('nccl')\n"}, False),  # no part of the program
        ({"eval.py": USES.replace(FLAG, "ddp = True\n") + '\nif __name__ == "__main__":\n    write(1)\n'}, True),
        ({"group.py": "import dist\ndist.init_process_group('nccl')\n", "part.py": f"import group\n{PART}"}, True),
    ],
)
def test_parts_of_such_programs_are_of_one_process(files, by_default, tmp_path):
    files = {"part.py": PART, "train.py": USES, **files}
    assert by_default_in(tmp_path, files, "part.py") is by_default
