"""TRL008: code that fails without a launcher's variables is run once per process."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")

PROGRAM = """\
import os

import torch


def run(args, name):
    {}
    torch.save({{}}, "done.pt")
"""


@pytest.mark.parametrize(
    ("read", "is_reported"),
    [
        ('torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))', True),
        ('rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])', True),
        ('size = int(os.environ["WORLD_SIZE"])', True),
        ('rank = int(os.environ.get("LOCAL_RANK", 0))', False),
        ('rank = int(os.environ["LOCAL_RANK"]) if args.distributed else 0', False),
        ('if args.distributed:\n        rank = int(os.environ["LOCAL_RANK"])', False),
        ('try:\n        rank = int(os.environ["LOCAL_RANK"])\n    except KeyError:\n        rank = 0', False),
        ('os.environ["RANK"] = "0"\n    rank = int(os.environ["RANK"])', False),
        ('os.environ.setdefault("RANK", "0")\n    rank = int(os.environ["RANK"])', False),
        ('jobs = int(os.environ["SLURM_NTASKS"])  # of a job, the rank of whose process is 0', False),
        ("rank = os.environ[name]", False),
    ],
)
def test_code_that_needs_a_launcher_is_run_by_all_that_it_starts(read, is_reported):
    assert bool(SNIPPETS.findings(PROGRAM.format(read) + "\n# rank\n")) is is_reported


HELPERS = """\
import os

import torch


def rank_here():
    return int(os.environ["RANK"])


def main():
    rank = rank_here()
    torch.save({}, "done.pt")
    torch.save({}, f"done-{rank}.pt")
"""


def test_so_is_what_calls_a_helper_that_needs_one():
    assert [each.start.line for each in SNIPPETS.findings(HELPERS)] == [12]
