"""TRL017: values that only the ranks have for which a flag was set, or that these bind in several places."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL017")

FLAG = """\
import torch.distributed as dist
import wandb


def main(args):
    dist.init_process_group("nccl")
    {flag}
    if first:
        run = wandb.init(project="x")
    run.log({{"loss": 1.0}})
"""


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("first = False\n    if dist.get_rank() == 0:\n        first = True", True),
        ("if dist.get_rank() == 0:\n        first = True\n    else:\n        first = False", True),
        ("first = True\n    if dist.get_rank() != 0:\n        first = False", True),
        ("first = True if dist.get_rank() == 0 else False", True),
        # With one process it is set as well, which is no other rank of several.
        (
            "first = False\n    if args.local_rank != -1:\n        if dist.get_rank() == 0:\n            first = True\n"
            "    else:\n        first = True",
            True,
        ),
        # What other ranks have set is not known, or all have.
        ("first = False\n    if dist.get_rank() == 0:\n        first = args.found", False),
        ("first = args.found\n    if dist.get_rank() == 0:\n        first = True", False),
        ("first = False\n    if dist.get_rank() == 0:\n        first = True\n    first = True", False),
        ("first = False\n    if dist.get_rank() % args.every == 0:\n        first = True", False),
        ("first = True\n    if dist.get_rank() == 0:\n        first = True", False),
        ("first = False\n    if dist.get_rank() == 0 or args.all:\n        first = True", False),
    ],
)
def test_a_flag_that_a_test_of_the_rank_sets_is_the_test(flag, expected):
    assert bool(SNIPPETS.findings(FLAG.format(flag=flag))) is expected


def test_a_flag_of_an_object_is_the_test_as_well():
    text = (
        "import torch.distributed as dist\nimport wandb\n\n\nclass Loop:\n    def run(self):\n"
        '        dist.init_process_group("nccl")\n        self.first = False\n        if {test}:\n'
        '            self.first = True\n        if self.first:\n            run = wandb.init(project="x")\n'
        '        run.log({{"loss": 1.0}})\n'
    )
    assert SNIPPETS.findings(text.format(test="dist.get_rank() == 0"))
    assert SNIPPETS.findings(text.format(test="self.found()")) == []


TWICE = """\
import argparse

import torch.distributed as dist
import wandb


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--x")
    parser.add_argument("--y")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    if {one}:
        run = wandb.init(project="x")
    if {other}:
        run = wandb.init(project="y")
    run.log({{"loss": 1.0}})


main()
"""
FIRST = "dist.get_rank() == 0"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (FIRST, FIRST, True),
        (FIRST, f"args.y and {FIRST}", True),
        (f"args.x and {FIRST}", FIRST, True),
        (f"args.x and {FIRST}", f"{FIRST} and args.y", True),
        # Other ranks may have bound it.
        (FIRST, "args.y", False),
        (f"args.x and {FIRST}", "args.y", False),
        (FIRST, "dist.get_rank() != 0", False),
        (FIRST, "args.y and dist.get_rank() == 1", False),
        (FIRST, f"args.y or {FIRST}", False),
    ],
)
def test_what_the_same_ranks_bind_twice_the_others_lack(one, other, expected):
    assert bool(SNIPPETS.findings(TWICE.format(one=one, other=other))) is expected
