"""What a constant at the top of a program switches off does not start its processes."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from trl_lint.launch.judge.engines import of_file
from trl_lint.launch.judge.switched_off import running_code

OFF = "ddp = False\nif ddp:\n    mp.spawn(main)\n"
GROUP = "import torch.distributed as dist\nddp = False\nif ddp: dist.init_process_group('nccl')\n"
SETUP = "def setup(rank):\n    dist.init_process_group('nccl', rank=rank)\n\n\nddp = False\nif ddp:\n    setup(0)\n"


@pytest.mark.parametrize(
    ("text", "spawns"),
    [
        (OFF, False),
        (OFF.replace("False", "True"), True),
        (OFF.replace("if ddp", "if not ddp"), True),
        (OFF.replace("if ddp", "if ddp and gpus > 1"), False),
        (OFF.replace("if ddp", "if ddp or gpus > 1"), True),
        (OFF.replace("    mp", "    pass\nelse:\n    mp"), True),
        (OFF.replace("    mp", "    pass\nelif gpus > 1:\n    mp"), True),
        ("alone: bool = True\nif alone: main()\nelse: mp.spawn(main)\n", False),
        ("alone = True\nif alone:\n    main()\nelif gpus > 1:\n    mp.spawn(main)\n", False),
        (f"{OFF}mp.spawn(main)\n", True),
        # Bound elsewhere, too.
        (f"{OFF}ddp = args.ddp\n", True),
        (f"def main(ddp):\n    if ddp:\n        mp.spawn(work)\n\n\n{OFF}", True),
        (f"from settings import *\n{OFF}", True),
        (f"import main\n{OFF}main.ddp = args.ddp\n", True),
        (f"{OFF}setattr(sys.modules[__name__], 'ddp', True)\n", True),
        (f"{OFF}globals().update(vars(args))\n", True),
        (f"{OFF}while:", True),  # no Python
    ],
)
def test_processes_are_started_by_what_runs(text, spawns):
    assert of_file(PurePath("train.py"), text.encode()).spawns is spawns


@pytest.mark.parametrize(
    ("text", "off"),
    [
        (GROUP, True),
        (SETUP, True),
        (f"# setup(rank) is for several\n{SETUP}", True),
        (f"parser.add_argument('--local_rank', default=0)\n{GROUP}", True),
        (GROUP.replace("False", "True"), False),
        (f"{GROUP}dist.init_process_group('gloo')\n", False),
        (f"{SETUP}setup(1)\n", False),
        (f"{SETUP}start = setup\n", False),
        (f"{SETUP}start = globals['setup']\n", False),
        (f"{GROUP}from accelerate import Accelerator\n", False),
        (f"{GROUP}mp.spawn(main)\n", False),
        (f"{GROUP}rank = int(os.environ['LOCAL_RANK'])\n", False),
        (OFF, False),  # nothing starts a group
        (SETUP.replace("    setup(0)", "    print()"), False),  # whoever imports it may call it
        ("ddp = False\nif ddp: wrap(model)\n", False),
    ],
)
def test_a_group_is_switched_off_if_nothing_else_may_start_one(text, off):
    assert of_file(PurePath("train.py"), text.encode()).group_off is off


def test_what_is_left_keeps_its_lines():
    text = b"on = False\nif on:\n    spawn(a)\n    b('\xc3\xa9')  # both\nelse:\n    c()\nd()\n"
    assert running_code(text) == b"on = False\nif on:\n    pass\n  # both\nelse:\n    c()\nd()\n"


def test_branches_within_others_that_are_switched_off():
    text = b"on = False\nif on:\n    if not on: spawn(a)\n    else: b()\nc()\n"
    assert running_code(text) == b"on = False\nif on:\n    pass\n\nc()\n"


def test_a_file_that_starts_nothing_is_not_looked_into():
    text = b"on = False\nif on:\n    a()\n"
    assert running_code(text) == text
