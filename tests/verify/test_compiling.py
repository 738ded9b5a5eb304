"""Code that torch compiles: marks break no graph, and the recorded statements are known to be incomplete."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from trl_lint.verify.proof.session import Session, Subject
from trl_lint.verify.rank import compiling
from trl_lint.verify.rank.job import Job

PROGRAM = """\
import torch

def inner(x):
    return x * 2

def outer(x):
    y = inner(x)
    return y + 1

compiled = torch.compile(outer, backend="eager", fullgraph=True)
for _ in range(3):
    compiled(torch.ones(2))
"""


@pytest.mark.torch
def test_a_graph_is_whole_and_what_is_inlined_is_not_known(launch, server, tmp_path):
    # Importing it here would take longer than the run.
    config = Path(find_spec("torch").origin).parent / "_dynamo" / "config.py"
    if "reorderable_logging_functions" not in config.read_text(encoding="utf-8"):
        pytest.skip("this torch takes nothing for logging")
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    judged = Session(launch, tmp_path / "traces", start=server).judge(Subject("train", str(path), tmp_path), "as it is")
    assert judged.ended_well, judged.verdicts
    for rank in judged.run.ranks:
        assert [rank.executed.count(str(path), line) for line in (7, 8, 12)] == [3, 3, 3]
        assert rank.executed.count(str(path), 4) is None


def test_other_releases_of_torch_are_left_alone():
    compiling.patch_config(SimpleNamespace())
    compiling.patch_frames(Job("", (), "", ""))(SimpleNamespace())
