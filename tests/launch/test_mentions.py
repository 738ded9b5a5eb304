"""Commands that a text only mentions show how a program is started."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from trl_lint.launch.judge.engines import FileEngines, of_file

FENCED = "```{}\nCUDA_VISIBLE_DEVICES=0 python train.py --epochs 3\n```\n"


def shown(text: str, name: str) -> FileEngines:
    return of_file(PurePath(name), text.encode())


def started(text: str, name: str) -> tuple[list[str], list[str]]:
    """The programs that a text starts as one process, and as several."""
    found = shown(text, name)
    return sorted(each.program for each in found.bare), [each.program for each in found.launches]


@pytest.mark.parametrize(
    "text",
    [
        "Run `python train.py --epochs 3` on one GPU.\n",
        "- GLUE: `python train.py cola.json`\n",
        "$ python train.py\n",
        "<pre>python train.py</pre>\n",
        FENCED.format("yaml"),
        FENCED.format("json"),
        "```\n./prepare.sh\npython train.py \\\n    --epochs 3\n```\n",
        "```\nC:\\> python train.py\n```\n",
    ],
)
def test_a_document_mentions_how_a_program_is_started(text):
    assert started(text, "README.md") == (["train.py"], [])


@pytest.mark.parametrize(
    "text",
    [
        'CMD="python train.py --seed $1"\neval $CMD\n',
        'cmd="python train.py --seed ${seed}"\n$cmd\n',
        'echo "python train.py --seed $1" | bash\n',
        'tmux new -d "python train.py"\n',
        'JOB="#!/bin/bash\npython train.py \\\n--seed ${SEED}"\necho $JOB > job.sh\nsbatch --gpus 1 job.sh\n',
        "$PYTHON train.py\n",
        '"${PYTHON_BIN:-python3}" train.py\n',
        "script=train.py\npython $script --seed 1\n",
        'script="train.py"\nfor seed in 1 2; do\n    python -u ${script} --seed $seed\ndone\n',
    ],
)
def test_a_script_starts_what_stands_in_a_string_or_a_variable(text):
    assert started(text, "run.sh") == (["train.py"], [])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Start it with `torchrun --nproc_per_node 8 train.py`.\n", "README.md"),
        ("```yaml\naccelerate launch train.py\n```\n", "README.md"),
        ('CMD="torchrun --nproc_per_node 8 train.py --seed $1"\neval $CMD\n', "run.sh"),
    ],
)
def test_so_it_does_several_processes(text, name):
    assert started(text, name) == ([], ["train.py"])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# python train.py\n", "run.sh"),
        ("prefix=$1\nscript=train.py\npython $prefix $script\n", "run.sh"),
        ("srun --ntasks=$GPUS \\\n  python -u $script\n", "run.sh"),
        ("script=train.py\nsrun --ntasks=$GPUS \\\n  python -u $script\n", "run.sh"),
        ("script=train.py\n$LAUNCH python $script\n", "run.sh"),
        ("The program `train.py` needs Python.\n", "README.md"),
        ("python is what train.py is written in\n", "notes.txt"),
    ],
)
def test_what_starts_nothing_for_certain_is_left_out(text, name):
    assert started(text, name) == ([], [])


def test_what_a_script_is_known_to_start_is_not_taken_from_its_text_again():
    """In the text, variables that are set for all of its commands are unknown."""
    found = shown("export CUDA_VISIBLE_DEVICES=0\naccelerate launch train.py\n", "run.sh")
    assert [(each.program, each.one_process) for each in found.launches] == [("train.py", True)]


def test_a_module_is_started_by_its_name():
    assert started('CMD="python -m package --seed $1"\n$CMD\n', "run.sh") == (["package.py"], [])
    assert started('CMD="torchrun --nproc_per_node 2 -m package.train --seed $1"\n$CMD\n', "run.sh") == (
        [],
        ["package/train.py"],
    )
    assert started("Install it with `pip install -m`.\n", "README.md") == ([], [])


def test_a_launcher_starts_python_without_naming_it():
    cell = '{"cell_type": "code", "source": ["!accelerate launch --num_processes=1 train.py"]}'
    notebook = f'{{"cells": [{cell}], "metadata": {{"kernelspec": {{"name": "python3"}}}}}}'
    (launch,) = shown(notebook, "train.ipynb").launches
    assert (launch.program, launch.one_process) == ("train.py", True)


def test_a_notebook_says_nothing_but_what_it_starts():
    cell = '{"cell_type": "code", "source": ["config = {\\"zero_optimization\\": {\\"stage\\": 3}}"]}'
    notebook = f'{{"cells": [{cell}], "metadata": {{"kernelspec": {{"name": "python3"}}}}}}'
    assert shown(notebook, "train.ipynb") == FileEngines()


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("--seed=[a number; if blank, a random one] --do_pred", {"seed", "do_pred"}),
        ("--image [path of an image (`[0, 1]` if [none])] --do_pred", {"image", "do_pred"}),
        ("--rows [one,two] --do_pred", {"rows", "do_pred"}),
    ],
)
def test_what_a_document_leaves_to_its_reader_is_one_word(given, options):
    found = shown(f"```\npython train.py {given}\n```\n", "README.md")
    assert [each.options for each in found.bare] == [options]
