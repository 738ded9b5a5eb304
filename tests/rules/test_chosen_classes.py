"""Objects whose class is chosen when the program runs: what holds for each class that it may be."""

import pytest
from small_projects import found, written

KINDS = """\
import torch


class Base:
    def __init__(self, args):
        self.args = args


class Plain(Base):
    def save(self, path):
        torch.save({"plain": 1}, path)


class Large(Base):
    def save(self, path):
        torch.save({"large": 1}, path)


class Quiet(Base):
    def save(self, path):
        pass
"""
TRAIN = """\
import argparse

import torch.distributed as dist
from kinds import Base, Large, Plain, Quiet


def build(args, main):
    if main:
        return Plain(args)
    return Quiet(args)


def train():
    args = argparse.ArgumentParser().parse_args()
    dist.init_process_group("nccl")
    saved = CHOICE
    saved.save("out/model.pt")


train()
"""
PLAIN = ("kinds.py", 11, "TRL008")
LARGE = ("kinds.py", 16, "TRL008")


def found_with(folder, choice, kinds=KINDS):
    return found(written(folder, {"train.py": TRAIN.replace("CHOICE", choice), "kinds.py": kinds}))


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("Plain(args)", [PLAIN]),
        ("Quiet(args)", []),
        ("Plain(args) if args.small else Large(args)", [PLAIN, LARGE]),
        ("Plain(args) if args.small else Quiet(args)", [PLAIN]),
        ("(Plain if args.small else Large)(args)", [PLAIN, LARGE]),
        ('{"plain": Plain, "large": Large}[args.kind](args)', [PLAIN, LARGE]),
        ('{"plain": Plain, "large": Large}.get(args.kind)(args)', [PLAIN, LARGE]),
        ("build(args, args.main)", [PLAIN]),
    ],
)
def test_methods_of_each_class_that_a_setting_selects_are_run(tmp_path, choice, expected):
    assert found_with(tmp_path, choice) == expected


@pytest.mark.parametrize(
    "choice",
    [
        "Plain(args) if dist.get_rank() == 0 else Quiet(args)",
        "(Plain if dist.get_rank() == 0 else Quiet)(args)",
        "{True: Plain, False: Quiet}[dist.get_rank() == 0](args)",
        "[Plain, Quiet, Quiet][dist.get_rank()](args)",
        "build(args, dist.get_rank() == 0)",
        "(Plain(args) if dist.get_rank() == 0 else Quiet(args)) if args.saved else Large(args)",
    ],
)
def test_of_an_object_that_is_another_one_on_each_rank_nothing_is_known(tmp_path, choice):
    assert found_with(tmp_path, choice) == []
