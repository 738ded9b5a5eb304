"""A function that is called for one process with some values of an option, and started in several with others."""

from __future__ import annotations

import pytest
from started import findings_in

PROGRAM = """
import argparse
import multiprocessing as mp

import torch
from helpers import set_up


def train(model):
    torch.save(model.state_dict(), "model.pt")


def train_on_all(model):
    torch.save(model.state_dict(), "model.pt")


def process(rank, size, task):
    {before}if rank == 0:
        print("started", task)
    set_up(rank, size)
    model = torch.nn.Linear(2, 2)
    if task == "train":
        train(model)
    elif task == "train_dist":
        train_on_all(model)


if __name__ == "__main__":
    args = argparse.ArgumentParser().parse_args()
    {changed}if {test}:
        process({called})
        {exits}
    gpus = torch.cuda.device_count()
    for rank in range(gpus):
        mp.Process(target=process, args=(rank, gpus, args.task)).start()
"""
WRITTEN = {
    "before": "",
    "changed": "",
    "test": '"dist" not in args.task',
    "called": "0, 1, args.task",
    "exits": "exit(0)",
}


@pytest.mark.parametrize(
    ("different", "by_default"),
    [
        ({}, [False, True]),
        ({"test": 'args.task == "train"', "exits": "raise SystemExit"}, [False, True]),
        ({"test": 'args.task in ("train", "test")', "called": 'task="train", size=1, rank=0'}, [False, True]),
        # Several are started with it, too, or may be.
        ({"test": '"test" in args.task'}, [True, True]),
        ({"exits": "print(gpus)"}, [True, True]),
        ({"test": "args.alone"}, [True, True]),
        ({"called": "args.rank, args.size, args.task"}, [True, True]),
        ({"changed": 'args.task = "train"\n    '}, [True]),
        ({"before": 'task = "train"\n    '}, [True]),
    ],
)
def test_a_value_with_which_one_process_is_chosen(different, by_default, tmp_path):
    text = PROGRAM.format(**{**WRITTEN, **different})
    found = findings_in(tmp_path, {"main.py": text}, "main.py")
    assert [each.by_default for each in found] == by_default
