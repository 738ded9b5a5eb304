"""Findings in a method that is given a writer, and that no file names, are not in the default set: nobody calls it."""

from __future__ import annotations

import pytest

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

SCORES = """
import torch
from torch.utils.tensorboard import SummaryWriter
from torch.utils.data import DataLoader, DistributedSampler

class Scores{bases}:
    def __init__(self):
        self.hits = 0
        self.rows = 0
        self.board = SummaryWriter()

    def fill(self, rows):
        for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
            self.hits += batch.sum().item()
            self.rows += len(batch)

    def share(self):
        return self.hits / self.rows

    {decorator}
    def log(self, writer, step):
        {receiver}.add_scalar("share", self.share(), step)
"""
TRAIN = """
import torch
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter
from scores import Scores

def main(loader):
    dist.init_process_group()
    scores = Scores()
    scores.fill(loader)
    {use}
"""
START = 'if __name__ == "__main__":\n    main(loaded())\n'


def by_default(
    tmp_path, *, use="print(scores.share())", start=START, bases="", decorator="", receiver="writer", more=None
):
    files = {
        "requirements.txt": "torch\n",
        "scores.py": SCORES.format(bases=bases, decorator=decorator, receiver=receiver),
        "train.py": TRAIN.format(use=use) + start,
        **(more or {}),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    texts = {tmp_path / name: text.encode() for name, text in files.items() if name.endswith(".py")}
    linter = Linter(Settings(root=tmp_path), (tmp_path,), (find_rule("TRL003"),))
    linter.prepare(texts.items())
    path = tmp_path / "scores.py"
    return [each.by_default for each in linter.check(path, texts[path])]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, False),
        ({"bases": "(object)"}, False),
        ({"use": "# scores.log(SummaryWriter(), 1)"}, False),
        ({"use": "scores.log(SummaryWriter(), 1)"}, True),
        ({"use": "print(scores.log)"}, True),
        ({"use": "run(scores, 'log')"}, True),
        ({"use": "getattr(scores, f'{loader}')(1)"}, True),
        ({"use": "print(getattr(scores, 'hits'))"}, False),
        ({"receiver": "self.board"}, True),
        # Others may call it: a library, the users of a package or of a file.
        ({"bases": "(torch.nn.Module)"}, True),
        ({"use": "class Own(Scores, dict): ..."}, True),
        ({"decorator": "@torch.no_grad()"}, True),
        ({"start": ""}, True),
        # A file that a linted one imports counts, whether or not it is linted itself.
        ({"use": "import show", "more": {"show.py": "def show(scores, to):\n    scores.log(to, 1)\n"}}, True),
        ({"use": "import show", "more": {"show.py": "def show(scores, to):\n    to(scores.share())\n"}}, False),
        ({"more": {"__init__.py": "", "setup.py": ""}}, True),
        ({"more": {"setup.py": ""}}, False),
    ],
)
def test_a_method_that_no_file_names(tmp_path, changed, expected):
    assert by_default(tmp_path, **changed) == [expected]
