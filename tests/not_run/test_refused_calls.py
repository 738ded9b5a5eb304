"""Findings in a method whose every call Python refuses are not in the default set: nothing in it is run."""

from __future__ import annotations

import pytest
from small_projects import NOWHERE

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

PROGRAM = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, model, path):
        self.model: torch.nn.Linear = model
        self.path = path
        if os.path.exists(path):
            {call}

    {definition}
        print(DDP(self.model).in_features)

    def train(self, loader):
        for x in loader:
            self.model(x).sum().backward()
        {later}

if __name__ == "__main__":
    dist.init_process_group("nccl")
    Trainer(torch.nn.Linear(2, 2), "a.pt").train([torch.ones(2)])
"""
CALL, DEFINITION = "self._load(path)", "def _load(self):"


def by_default(call: str, definition: str = DEFINITION, later: str = "pass", more: str = "") -> list[bool]:
    program = PROGRAM.format(call=call, definition=definition, later=later) + more
    linter = Linter(Settings(), (NOWHERE,), (find_rule("TRL002"),))
    return [each.by_default for each in linter.check(NOWHERE / "train.py", program.encode())]


@pytest.mark.parametrize(
    ("call", "definition", "expected"),
    [
        (CALL, DEFINITION, [False]),
        ("self._load(path=path)", DEFINITION, [False]),
        (CALL, "def _load(self, path, strict):", [False]),
        (CALL, "def _load(self, *, path):", [False]),
        (CALL, "@torch.no_grad()\n    def _load(self):", [True]),  # may be called otherwise
        ("self._load(*path)", DEFINITION, [True]),  # may fit
        (CALL, "def _load(self, path):", [True]),
        (CALL, "def _load(self, *paths):", [True]),
        ("pass", DEFINITION, [True]),
    ],
)
def test_a_call_that_python_refuses_runs_nothing(call, definition, expected):
    assert by_default(call, definition) == expected


@pytest.mark.parametrize(
    ("later", "more", "expected"),
    [
        ("self._load()", "", [True]),
        ("load = self._load", "", [True]),
        ("getattr(self, '_load')()", "", [True]),
        ("pass", "    trainer._load()\n", [True]),
        ("pass", "    # trainer._load()\n", [False]),
        ("self._load(1, 2)", "", [False]),
    ],
)
def test_whatever_else_names_it_may_run_it(later, more, expected):
    assert by_default(CALL, later=later, more=more) == expected


def test_a_base_may_call_it(tmp_path):
    base = "class Base:\n    def run(self):\n        self._load()\n\n    def _load(self):\n        pass\n"
    program = PROGRAM.format(call=CALL, definition=DEFINITION, later="pass")
    for bases, expected in (("(Base)", [True]), ("", [False])):
        text = "from base import Base\n" + program.replace("class Trainer", f"class Trainer{bases}")
        texts = {tmp_path / "train.py": text.encode(), tmp_path / "base.py": base.encode()}
        for path, written in texts.items():
            path.write_bytes(written)
        linter = Linter(Settings(), (tmp_path,), (find_rule("TRL002"),))
        linter.prepare(texts.items())
        path = tmp_path / "train.py"
        assert [each.by_default for each in linter.check(path, texts[path])] == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("class Other:\n    def _load(self):\n        pass\n", [False]),
        ("from train import Trainer\nTrainer(model, path)._load()\n", [True]),
        ("class Heir(Trainer):\n    def _load(self, path):\n        super()._load()\n", [True]),
    ],
)
def test_other_files(code, expected, tmp_path):
    texts = {
        tmp_path / "train.py": PROGRAM.format(call=CALL, definition=DEFINITION, later="pass").encode(),
        tmp_path / "other.py": code.encode(),
    }
    for path, text in texts.items():
        path.write_bytes(text)
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL002"),))
    linter.prepare(texts.items())
    path = tmp_path / "train.py"
    assert [each.by_default for each in linter.check(path, texts[path])] == expected
