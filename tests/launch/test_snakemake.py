"""Which commands a Snakemake file has a shell run, and what it shows about how programs are started."""

from __future__ import annotations

from pathlib import PurePath

import pytest
from launching import commands, only_start

from trl_lint.launch.judge.engines import of_file
from trl_lint.launch.judge.gpus import gpus

RULE = "rule train:\n    input: 'a.csv'\n"


def shown(text: str, name: str = "Snakefile") -> tuple[list[str], list[str]]:
    """The programs that a file starts as one process, and as several."""
    found = of_file(PurePath(name), text.encode())
    return sorted(each.program for each in found.bare), [each.program for each in found.launches]


@pytest.mark.parametrize(
    "text",
    [
        "    shell: 'python train.py {input}'\n",
        "    shell:\n        'python train.py {input} '\n        '{params.more}'\n",
        "    shell:\n        '''\n        mkdir -p out\n        python \\\n            train.py {input}\n        '''\n",
        "    shell:\n        ('python train.py '  # here\n         '{input}')\n",
        "    shell: 'python train.py ' + OPTIONS\n",
        "    shell: 'python train.py ' + config['options'] + ' {input}' + more_of(genome)\n",
        "    run:\n        if more:\n            shell('python train.py {input}')\n",
        "    run:\n        shell(f'''python train.py {options} {{input}}''')\n",
        "    script:\n        'train.py'\n",
        "    script: 'train.py'\n",
    ],
)
def test_one_process(text):
    assert shown(RULE + text) == (["train.py"], [])
    assert shown(RULE + text, "rules/train.smk") == (["train.py"], [])


@pytest.mark.parametrize(
    "text",
    [
        "    shell: 'torchrun --nproc_per_node {threads} train.py'\n",
        "    shell:\n        '''\n        torchrun --nproc_per_node $(awk '{{print NF}}' f) train.py {input}\n'''\n",
        "    run:\n        shell('accelerate launch train.py')\n",
    ],
)
def test_several_processes(text):
    assert shown(RULE + text) == ([], ["train.py"])


@pytest.mark.parametrize(
    "text",
    [
        "    # shell: 'python train.py'\n",
        "    message: \"shell: 'python train.py'\"\n",
        "    shell: '# python train.py'\n",
        "    shell: 'python {params.program} train.py'\n",
        "    shell: 'python train.py' if few else 'torchrun train.py'\n",
        "    shell: COMMAND + ' python train.py'\n",
        "    shell: b'python train.py'\n",
        "    run:\n        connection.shell('python train.py')\n",
        "    script: 'train_{wildcards.kind}.py'\n",
        "    script: 'train.R'\n",
    ],
)
def test_nothing(text):
    assert shown(RULE + text) == ([], [])


@pytest.mark.parametrize(
    ("resources", "verdict"),
    [
        ("resources: gpu=2", "several"),
        ("resources:\n        mem_mb=4000,\n        nvidia_gpu = 1,", "one"),
        ("resources: mem_mb=4000", "unknown"),
        ("resources: slurm_extra='--gres=gpu:2'", "unknown"),
        ("params: gpu=2", "unknown"),
    ],
)
def test_gpus(resources, verdict):
    rules = f"rule before:\n    resources: gpu=4\n\n{RULE}    {resources}\n    shell: 'python x.py'\n"
    start = only_start(rules, "x.smk")
    assert gpus(start).gpus.value == verdict
    assert bool(gpus(start).evidence) == ("gpu" in resources and "params" not in resources)


def test_a_place_in_the_file():
    text = f"{RULE}    shell:\n        'cd there; '\n        'python x.py'\n"
    (command,) = [each for each in commands(text, "x.smk") if each.words[0].value == "python"]
    assert text[command.start : command.end] == "python x.py"
