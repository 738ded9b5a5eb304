"""A guard that lets all ranks in without an option: it counts if no launch gives that option."""

from __future__ import annotations

import pytest
from started import findings_in

TRAIN = """\
import argparse

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spawned", {declared})
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    {before}
    dist.init_process_group("nccl")
    model = train(args)
    if {test}:
        torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
"""
DECLARED = 'action="store_true"'
TEST = "not args.spawned or (args.spawned and dist.get_rank() % 8 == 0)"
LAUNCH = "torchrun --nproc_per_node 8 train.py --epochs 3\n"


def found(folder, declared=DECLARED, test=TEST, before="pass", runs=LAUNCH):
    text = TRAIN.format(declared=declared, test=test, before=before)
    return findings_in(folder, {"train.py": text, "run.sh": runs}, "train.py")


def test_an_option_that_no_launch_gives(tmp_path):
    (finding,) = found(tmp_path)
    assert finding.by_default
    assert finding.message.startswith("`torch.save` runs on all processes where `not args.spawned` holds: ")


@pytest.mark.parametrize(
    ("declared", "test", "number"),
    [
        (DECLARED, "not args.spawned or dist.get_rank() == 0", 1),
        ("default=None", TEST, 1),
        ("default=0", TEST, 1),
        ("default=1", TEST, 0),
        (DECLARED, "dist.get_rank() == 0 or not args.spawned", 1),
        (DECLARED, "dist.get_rank() == 0", 0),
        (DECLARED, "args.spawned or dist.get_rank() == 0", 0),
        (DECLARED, "not args.other or dist.get_rank() == 0", 0),
        (DECLARED, "not args.spawned and dist.get_rank() == 0", 0),
        ('action="store_false"', TEST, 0),
        ("default=True", TEST, 0),
        ("required=True", TEST, 0),
    ],
)
def test_what_the_guard_asks(declared, test, number, tmp_path):
    assert len(found(tmp_path, declared, test)) == number


@pytest.mark.parametrize(
    "before",
    [
        "args.spawned = torch.cuda.device_count() > 1",
        "parser.set_defaults(spawned=True)",
        'setattr(args, "spawned", True)',
    ],
)
def test_an_option_that_the_program_sets(before, tmp_path):
    assert found(tmp_path, before=before) == []


@pytest.mark.parametrize(
    "runs",
    [
        "",
        LAUNCH + "python train.py --spawned\n",
        LAUNCH + "torchrun train.py --epochs 3 --spawned\n",
        "torchrun train.py\n",
        'torchrun train.py --epochs 3 "$@"\n',
        "python train.py --epochs 3\n",
    ],
)
def test_launches_that_may_give_it(runs, tmp_path):
    assert found(tmp_path, runs=runs) == []
