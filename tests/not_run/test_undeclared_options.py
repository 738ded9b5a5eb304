"""Findings behind an option that no parser has are not in the default set: it always has its default."""

import pytest
from small_projects import found, written

PROGRAM = """\
import argparse
import shutil

import torch.distributed as dist
{imports}


def main(parser):
    parser.add_argument("--folder")
    args = {parsed}
    dist.init_process_group("nccl")
    if {test}:
        shutil.rmtree(args.folder)


if __name__ == "__main__":
    main(argparse.ArgumentParser())
"""
OPTION = 'vars(args).get("wipe_all", False)'
REMOVED = [("train.py", 13, "TRL008")]


def lines(folder, test: str = OPTION, parsed: str = "parser.parse_args()", **others: str) -> list:
    imports = "".join(f"import {name}" for name in others)
    files = {"train.py": PROGRAM.format(test=test, parsed=parsed, imports=imports)}
    return found(written(folder, files | {f"{name}.py": text for name, text in others.items()}))


@pytest.mark.parametrize(
    "test",
    [
        OPTION,
        'vars(args).get("wipe_all")',
        'getattr(args, "wipe_all", False)',
        'getattr(args, "wipe_all", None) and args.folder',
        'getattr(args, "wipe_all", False) or getattr(args, "wipe_most", None)',
    ],
)
def test_an_option_that_nothing_declares(test, tmp_path):
    assert not lines(tmp_path, test)


@pytest.mark.parametrize(
    "test",
    [
        'vars(args).get("wipe_all", True)',
        f"{OPTION} or args.folder",
        f"not {OPTION}",
        'getattr(args, "folder", None)',
    ],
)
def test_an_option_that_may_be_on(test, tmp_path):
    assert lines(tmp_path, test) == REMOVED


@pytest.mark.parametrize(
    "other",
    [
        'parser.add_argument("--wipe-all", action="store_true")',
        "args.wipe_all = True",
        "parser.set_defaults(**settings)",
        "vars(args).update(settings)",
        "for name in settings: setattr(args, name, settings[name])",
    ],
)
def test_another_file_may_declare_or_set_it(other, tmp_path):
    assert lines(tmp_path, other=other) == REMOVED


def test_what_is_no_parser_may_have_it(tmp_path):
    assert lines(tmp_path, parsed="argparse.Namespace(folder='out')") == REMOVED
