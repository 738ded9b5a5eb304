"""TRL008: programs that nothing but a command shows to be run by several processes."""

import pytest
from started import findings_in

HELPER = """\
import torch


def write(path):
    torch.save({}, path)
"""
PROGRAM = """\
import argparse
import json

import torch
import torch.distributed as dist
{imports}
import helper


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--kind", default="whole")
    parser.add_argument("--rows", type=int, default=0)
    args = parser.parse_args()
    config = json.load(open("config.json"))
    {lines}


if __name__ == "__main__":
    {start}
"""
SAVE = 'torch.save({}, "x.pt")'
SEVERAL = "torchrun --nproc_per_node 8 train.py --out runs --fold 3\n"


def is_reported(folder, lines, command, *, start="main()", imports="", name="train.py") -> bool:
    program = PROGRAM.format(lines=lines, start=start, imports=imports)
    files = {"pyproject.toml": "", "helper.py": HELPER, "train.py": program, "run.sh": command}
    return bool(findings_in(folder, files, name))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (SEVERAL, True),
        (f"python train.py --out runs\n{SEVERAL}", True),
        ("srun python train.py --out runs\n", False),
        ("torchrun --nproc_per_node 1 train.py --out runs\n", False),
        ("torchrun train.py --out runs\n", False),
        ("torchrun --nproc_per_node 8 other.py --out runs\n", False),
        ("python train.py --out runs\n", False),
        ("", False),
    ],
)
def test_a_command_that_starts_several_processes_shows_them(command, expected, tmp_path):
    assert is_reported(tmp_path, SAVE, command) is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"if args.fold:\n        {SAVE}", True),
        (f"if args.fold > 0 and args.out is not None:\n        {SAVE}", True),
        (f"if not args.dry:\n        {SAVE}", True),
        (f'if args.kind != "part":\n        {SAVE}', True),
        (f"if args.rows == 0:\n        {SAVE}", True),
        (f"if args.dry is not None:\n        {SAVE}", True),  # it is False
        (f'if "cache" in config["data"]:\n        {SAVE}', True),
        # Another command may start one process for that.
        (f'if args.mode == "prepare":\n        {SAVE}', False),
        (f'if args.mode in ("prepare", "clean"):\n        {SAVE}', False),
        (f"if args.prepare:\n        {SAVE}", False),
        (f"if args.rows > 0:\n        {SAVE}", False),
        (f'if args.mode != "prepare":\n        {SAVE}', False),  # its default is not known
        (f'if args.kind != "whole":\n        {SAVE}', False),
        (f"if args.fold and args.prepare:\n        {SAVE}", False),
        (f"if args.fold or args.prepare:\n        {SAVE}", False),
        (f"if dist.get_rank() == 0:\n        {SAVE}", False),
    ],
)
def test_what_other_options_ask_for_may_be_done_by_one_process(lines, expected, tmp_path):
    assert is_reported(tmp_path, lines, SEVERAL) is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f'if args.mode == "train":\n        {SAVE}', True),
        (f'if args.mode in ("train", "test"):\n        {SAVE}', True),
        (f"if args.fold == 3:\n        {SAVE}", True),
        (f"if args.size > 1:\n        {SAVE}", True),  # `$SIZE`, whatever that is
        (f"if args.dry:\n        return\n    {SAVE}", True),
        (f'if args.mode == "test":\n        print()\n    else:\n        {SAVE}', True),
        (f'if args.mode == "test":\n        return\n    {SAVE}', True),
        # Another command may start one process with other values.
        (f'if args.mode == "test":\n        {SAVE}', False),
        (f'if args.mode in ("test", "clean"):\n        {SAVE}', False),
        (f"if args.fold == 0:\n        {SAVE}", False),
        (f"if not args.train:\n        {SAVE}", False),
        (f"if args.train:\n        print()\n    else:\n        {SAVE}", False),
        (f"if args.fold is None:\n        {SAVE}", False),
        (f'if args.mode == "train":\n        print()\n    else:\n        {SAVE}', False),
        (f'if args.mode == "train":\n        print()\n        return\n    {SAVE}', False),
        (f'if args.kind == "whole":\n        print()\n    elif args.fold:\n        {SAVE}', False),
    ],
)  # fmt: skip
def test_the_values_of_options_decide_what_is_run(lines, expected, tmp_path):
    command = "torchrun --nproc_per_node 8 train.py --mode train --train --fold 3 --size $SIZE\n"
    assert is_reported(tmp_path, lines, command) is expected


def test_an_option_that_is_given_twice_may_have_either_value(tmp_path):
    command = "torchrun --nproc_per_node 8 train.py --mode train --mode test\n"
    for mode in ("train", "test"):
        assert is_reported(tmp_path, f'if args.mode == "{mode}":\n        {SAVE}', command)


def test_nothing_is_known_of_options_that_a_command_passes_on(tmp_path):
    command = 'torchrun --nproc_per_node 8 train.py "$@"\n'
    assert is_reported(tmp_path, SAVE, command)
    assert not is_reported(tmp_path, f"if not args.train:\n        {SAVE}", command)
    assert not is_reported(tmp_path, f"if args.train:\n        {SAVE}", command)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("helper.write(args.out)", True),
        ("if args.prepare:\n        helper.write(args.out)", False),
        ("if dist.is_initialized() and dist.get_rank() == 0:\n        helper.write(args.out)", False),
    ],
)
def test_a_helper_is_run_as_its_program_is(lines, expected, tmp_path):
    assert is_reported(tmp_path, lines, SEVERAL, name="helper.py") is expected


@pytest.mark.parametrize(
    ("imports", "start", "expected"),
    [
        ("import fire", "fire.Fire(main)", True),
        ("from absl import app", "app.run(main)", True),
        ("from absl import app", "app.call_after_init(main)", False),
        ("import threading", "threading.Thread(target=main).start()", True),
        ("import logging", "logging.info(main)", False),
    ],
)
def test_the_command_line_calls_the_program(imports, start, expected, tmp_path):
    assert is_reported(tmp_path, SAVE, SEVERAL, start=start, imports=imports) is expected


@pytest.mark.parametrize(
    ("before", "end"), [("import fire\n", "fire.Fire(main)\n"), ("import click\n@click.command()\n", "main()\n")]
)
def test_parameters_of_a_command_are_options(before, end, tmp_path):
    run = "torchrun --nproc_per_node 8 train.py --mode train\n"
    for mode, expected in (("train", True), ("prepare", False)):
        body = f'def main(mode="train"):\n    if mode == "{mode}":\n        {SAVE}\n'
        program = f"import torch\nimport torch.distributed as dist\n{before}{body}{end}"
        files = {"pyproject.toml": "", "train.py": program, "run.sh": run}
        assert bool(findings_in(tmp_path, files, "train.py")) is expected, mode


def test_the_chain_names_the_command(tmp_path):
    program = PROGRAM.format(lines="helper.write(args.out)", start="main()", imports="")
    files = {"pyproject.toml": "", "helper.py": HELPER, "train.py": program, "run.sh": SEVERAL}
    (finding,) = findings_in(tmp_path, files, "helper.py")
    assert [each.text for each in finding.because] == [
        "`run.sh` starts several processes of it",
        "called here: `helper.write(args.out)`",
    ]
