"""TRL008: by what a program is known to be run by several processes."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")

PROGRAM = """\
import os
import deepspeed
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def set_up():
    dist.init_process_group("nccl")

def ask_first():
    if not dist.is_initialized():
        dist.init_process_group("nccl")

def leave_first():
    if dist.is_available() and dist.is_initialized():
        return
    dist.init_process_group("nccl")

def start_alone():
    if not dist.is_initialized():
        dist.init_process_group("gloo", world_size=1, rank=0)

def ask_only():
    return dist.get_rank() if dist.is_initialized() else 0

def work(place, net):
    dist.init_process_group("nccl")
    net = FSDP(net)
    net(torch.ones(1)).backward()

def main(args, net):
    {start}
    torch.save(net, "x.pt")
"""


@pytest.mark.parametrize(
    ("start", "is_reported"),
    [
        ("deepspeed.init_distributed()", True),
        ("engine, *_ = deepspeed.initialize(args=args, model=net)", True),
        ("wrapped = FSDP(net)", True),
        ("ask_first()", True),
        ("leave_first()", True),
        ("if not dist.is_initialized():\n        set_up()", True),
        ("if args.distributed:\n        set_up()", True),
        ("if torch.cuda.device_count() > 1:\n        set_up()", True),
        ("if args.ddp:\n        ask_first()", True),
        ("if args.ddp:\n        set_up()\n    else:\n        print()", False),
        ("if args.single:\n        set_up()", False),
        ("start_alone()", False),
        ("ask_only()", False),
        ("deepspeed.ops", False),
        # It may be in the process that starts the others.
        ("if args.distributed:\n        work(0, net)", False),
        ("if args.spread:\n        mp.spawn(work, nprocs=8)\n    else:\n        set_up()", False),
        ("mp.spawn(work, nprocs=8)\n    if args.distributed:\n        set_up()", False),
        ("if int(os.environ['RANK']) == 0:\n        set_up()", False),
    ],
)
def test_what_starts_the_processes(start, is_reported):
    assert bool(SNIPPETS.findings(PROGRAM.format(start=start))) is is_reported


def test_a_program_of_deepspeed_needs_no_other_library():
    text = 'import deepspeed\nimport torch\n\ndeepspeed.init_distributed()\ntorch.save({}, "x.pt")\n'
    assert SNIPPETS.findings(text)
    assert SNIPPETS.findings(text.replace("deepspeed.init", "somewhere.init")) == []
