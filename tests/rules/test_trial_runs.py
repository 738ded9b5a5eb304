"""What harms only what a run learns is not in the default set where an option turns on a trial of the code."""

from __future__ import annotations

import pytest
from started import by_default_in

DRAWS = """\
import argparse
import shutil

from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--{option}", {declared})
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    rows = load_dataset("json", split="train")
    if {test}:
        {call}
    loader = Accelerator().prepare(DataLoader(rows))

if __name__ == "__main__":
    main()
"""
DECLARED = 'action="store_true"'
CALL = 'rows = rows.train_test_split(0.1)["test"]'


def is_by_default(folder, option="debug", declared=DECLARED, test="", call=CALL, rule="TRL015", files=None):
    text = DRAWS.format(option=option, declared=declared, test=test or f"args.{option}", call=call)
    return by_default_in(folder, {"train.py": text, **(files or {})}, "train.py", rule)


@pytest.mark.parametrize(
    ("option", "by_default"),
    [
        ("debug", False),
        ("is_debug", False),
        ("debug_mode", False),
        ("dry_run", False),
        ("smoke_test", False),
        ("debug_port", True),
        ("debugger", True),
        ("test", True),
        ("fast", True),
    ],
)
def test_an_option_by_its_name(option, by_default, tmp_path):
    assert is_by_default(tmp_path, option) is by_default


@pytest.mark.parametrize(
    ("declared", "test", "by_default"),
    [
        ("type=int, default=0", "args.debug > 0", False),
        ("type=bool, default=False", "args.debug and args.epochs", False),
        (DECLARED, "args.debug or args.epochs", True),
        (DECLARED, "not args.debug", True),
        ("type=bool, default=True", "args.debug", True),
        ("type=bool, default=ON", "args.debug", True),
        ('action="store_false"', "args.debug", True),
    ],
)
def test_it_has_to_be_off(declared, test, by_default, tmp_path):
    assert is_by_default(tmp_path, declared=declared, test=test) is by_default


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"run.sh": "torchrun train.py --epochs 3\n"}, False),
        ({"run.sh": 'torchrun train.py "$@"\n'}, False),
        ({"run.sh": "torchrun train.py $MORE\n", "small.yaml": "debug: false\n"}, False),
        # What is shown is meant to be run.
        ({"run.sh": "torchrun train.py --epochs 3 --debug\n"}, True),
        ({"run.sh": "torchrun train.py --config small.yaml\n", "small.yaml": "debug: true\n"}, True),
        ({"run.sh": "torchrun train.py $MORE\n", "small.yaml": "debug: true\n"}, True),
    ],
)
def test_no_file_turns_it_on(files, by_default, tmp_path):
    assert is_by_default(tmp_path, files=files) is by_default


@pytest.mark.parametrize(
    ("call", "by_default"), [('open("rows.txt", "w").write(str(rows))', False), ('shutil.rmtree("old")', True)]
)
def test_a_trial_that_fails_shows_nothing(call, by_default, tmp_path):
    """What races for a file does little; a crash ends the trial, too."""
    assert is_by_default(tmp_path, call=call, rule="TRL008") is by_default
