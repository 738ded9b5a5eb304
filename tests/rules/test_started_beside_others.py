"""Races, and what a wrapped model lacks, in a program that no command starts on several processes, beside others."""

from __future__ import annotations

import pytest
from snippets import loop
from started import MAIN, by_default_in

RACE = loop('open("losses.txt", "w")') + MAIN
OTHER = "def main(): …\n" + MAIN.replace("train()", "main()")
SPAWN = (
    "import torch.multiprocessing as mp\nfrom train import train\n\n"
    "if __name__ == '__main__':\n    mp.spawn(train, nprocs=2)\n"
)

STARTER = """\
import subprocess, sys, torch

if __name__ == "__main__":
    for i in range(torch.cuda.device_count()):
        subprocess.Popen([sys.executable, *sys.argv[1:], {option}])
"""


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"run.sh": "torchrun --nproc_per_node 8 other.py\n"}, False),
        ({"README.md": "```\naccelerate launch other.py --epochs 3\n```\n"}, False),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py\ntorchrun --nproc_per_node 8 train.py\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py\ntorchrun --nproc_per_node 8 $SCRIPT\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py\ndeepspeed --num_gpus 8 /home/me/train.py\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node 1 apart/other.py\n", "apart/other.py": OTHER}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 gone.py\n"}, True),
        ({"run.sh": "python apart/other.py\n", "apart/other.py": OTHER}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py\n", "other.py": "import train\n" + OTHER}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py\n", "start.py": SPAWN}, True),
        ({}, True),
    ],
)
def test_a_race_is_asked_for_where_only_others_are_started(files, by_default, tmp_path):
    files = {"other.py": OTHER, **files, "train.py": RACE}
    assert by_default_in(tmp_path, files, "train.py") is by_default


@pytest.mark.parametrize("command", ["python -m starter train.py", "python starter.py train.py --out x"])
@pytest.mark.parametrize(
    ("option", "by_default"),
    [
        ('"--rank={}".format(i)', True),
        ('f"--local_rank={i}"', True),
        ('"--local-rank=%d" % i', True),
        # What it starts does not know of the others.
        ('f"--fold={i}"', False),
        ('f"--rank_by={i}"', False),
    ],
)
def test_a_starter_of_the_project_that_gives_each_process_its_rank(option, by_default, command, tmp_path):
    files = {"starter.py": STARTER.format(option=option), "README.md": f"```\n{command}\n```\n", "train.py": RACE}
    assert by_default_in(tmp_path, files, "train.py") is by_default


def test_a_hang_is_not(tmp_path):
    hang = loop("if accelerator.is_main_process:\n            accelerator.wait_for_everyone()") + MAIN
    files = {"other.py": OTHER, "run.sh": "torchrun --nproc_per_node 8 other.py\n", "train.py": hang}
    assert by_default_in(tmp_path, files, "train.py", "TRL006")


MISSING = loop("model.compute_loss(batch)") + MAIN
GENERATES = loop("model.generate(batch)") + MAIN
OF_TRAINER = (
    """\
from transformers import Trainer

class Own(Trainer):
    def compute_loss(self, model, inputs, **kwargs):
        return model(**inputs, lengths=model.get_lengths(inputs["mask"])).loss

def train():
    Own(model=make(), train_dataset=rows).train()
"""
    + MAIN
)


@pytest.mark.parametrize(("program", "rule"), [(MISSING, "TRL002"), (GENERATES, "TRL010")])
@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        # Who starts it on several processes after all reads in the error what is wrong.
        ({"run.sh": "torchrun --nproc_per_node 8 other.py\n"}, False),
        ({"run.sh": "python tune.py\n", "tune.py": "from train import train\n" + MAIN}, False),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py\ntorchrun --nproc_per_node 8 train.py\n"}, True),
        ({"run.sh": "python train.py\ntorchrun --nproc_per_node 8 train.py\n"}, True),
        ({}, True),
    ],
)
def test_what_a_wrapper_lacks_is_asked_for_where_no_launch_has_several(program, rule, files, by_default, tmp_path):
    files = {"other.py": OTHER, **files, "train.py": program}
    assert by_default_in(tmp_path, files, "train.py", rule) is by_default


def test_what_a_trainer_wraps_in_one_process_is_not(tmp_path):
    files = {"other.py": OTHER, "run.sh": "torchrun --nproc_per_node 8 other.py\n", "train.py": OF_TRAINER}
    assert by_default_in(tmp_path, files, "train.py", "TRL002")
