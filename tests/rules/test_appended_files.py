"""TRL008: files that are opened for appending, by who writes to them. See also `tests/evaluation/false_alarms/`."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")

PROGRAM = """\
import torch.distributed as dist
from somewhere import Table, note

class Log:
    def __init__(self, file):
        self.file = file

def add_on_main(file, text):
    if dist.get_rank() == 0:
        file.write(text)

def pass_on(file, text, **options):
    add_on_main(text=text, file=file)

def add(file, text):
    file.write(text)

def opened(path):
    return {0}

def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    opened("y")
    file = {1}
    {2}
"""


def found(body: str, opened: str = "Log(path)", first: str = 'open("log.txt", "a")') -> list[bool]:
    """Whether each finding is in the default set."""
    text = PROGRAM.format(opened, first, body.replace("\n", "\n    "))
    return [each.by_default for each in SNIPPETS.findings(text)]


@pytest.mark.parametrize(
    ("body", "by_default"),
    [
        ('if rank == 0:\n    add(file, "x")', []),
        ('add_on_main(file, "x")', []),
        ('pass_on(file, text="x")\nfile.flush()', []),
        ('for step in range(8):\n    pass_on(file, "x")\n    if rank == 0:\n        file.write("y")', []),
        ('add(file, "x")', [False]),
        ('pass_on(file, "x")\nadd(text="x", file=file)', [False]),
        ('pass_on(file, "x")\nprint("x", file=file)', [False]),
        # Nobody knows who writes to it: it may be all.
        ('pass_on(*[file, "x"])', [False]),
        ('note(file, "x")', [False]),
        ('pass_on(file, "x")\nlog = Log(file)', [False]),
        ("table = Table(file)\nadd_on_main(file, 'x')", [False]),
        ("return file", [False]),
        ("files = {'log': file}", [False]),
        ("note(file, 'x')\nfile.write('x')", [False]),
    ],
)
def test_who_writes_in_the_functions_that_it_is_passed_to(body, by_default):
    assert found(body) == by_default


@pytest.mark.parametrize(
    ("opened", "by_default"), [('open(path, "a")', [False]), ('Log(open(path, "a"))', [False]), ("None", [])]
)
def test_a_file_that_a_function_returns(opened, by_default):
    assert found("pass", opened, "None") == by_default


def test_what_is_emptied_does_not_depend_on_who_writes():
    assert found('add_on_main(file, "x")', first='open("log.txt", "w")') == [True]
