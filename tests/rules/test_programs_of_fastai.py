"""Programs of fastai: what shows that they are run by several processes, and what tells the first one (TRL008, TRL017).

The names come from any module of fastai, most often with all others.
"""

from __future__ import annotations

import pytest
from snippets import Snippets

WRITERS = Snippets("TRL008")
LACKED = Snippets("TRL017")
WAITING = Snippets("TRL006")

ALL = "from fastai.vision.all import *\nfrom fastai.distributed import *"
NAMED = (
    "from fastai.torch_core import distrib_barrier, num_distrib, rank_distrib\n"
    "from fastai.learner import Learner\nfrom fastai.vision.learner import vision_learner\n"
    "from fastai.distributed import DistributedTrainer, rank0_first, setup_distrib"
)
PROGRAM = """\
import wandb
from fastcore.script import call_parse
{imports}


def fetch():
    open("data.txt", "w")


@call_parse
def main(path: str = "out", lr: float = 0.1, gpu: int = None):
    learn = make(path)
    {adapts}
    {line}
"""


def is_found(adapts: str, line: str = 'open(path, "w")', imports: str = ALL) -> bool:
    return bool(WRITERS.findings(PROGRAM.format(adapts=adapts, line=line, imports=imports)))


@pytest.mark.parametrize(
    ("adapts", "is_known"),
    [
        ("with learn.distrib_ctx(cuda_id=gpu): learn.fit(1)", True),
        ("learn = Learner(path).to_fp16().to_distributed(gpu)", True),
        ("learn = vision_learner(path).to_distributed()", True),
        ("DistributedTrainer(learn)", True),
        ("gpu = setup_distrib(gpu)", True),
        ("learn = learn.to_distributed()", False),
        ("learn.fit(1)", False),
        ("Learner(path).to_fp16().fit(1)", False),
    ],
)
@pytest.mark.parametrize("imports", [ALL, NAMED])
def test_what_shows_several_processes(adapts, is_known, imports):
    assert is_found(adapts, imports=imports) is is_known
    assert is_found(adapts, "wandb.init()", imports=imports) is is_known
    assert not is_found(adapts, 'if rank_distrib() == 0: open(path, "w")', imports=imports)


ADAPTS = "with learn.distrib_ctx(): learn.fit(1)"


@pytest.mark.parametrize(
    ("line", "is_reported"),
    [
        ('if lr > 0: open(path, "w")', True),
        ('if num_distrib() > 1: open(path, "w")', True),
        ('if not rank_distrib(): open(path, "w")', False),
        ('open(f"{path}/{rank_distrib()}", "w")', False),
        ("fetch()", True),
        ("rank0_first(fetch)", False),
        ("learn.save(path)", False),
    ],
)
def test_what_each_process_does(line, is_reported):
    assert is_found(ADAPTS, line) is is_reported


def test_a_test_of_the_rank_shows_several_processes():
    assert is_found("if rank_distrib() == 0: print(lr)")


@pytest.mark.parametrize(("test", "is_reported"), [("rank_distrib() == 0", True), ("lr > 0", False)])
def test_what_the_first_process_alone_has(test, is_reported):
    line = f"if {test}: run = wandb.init()\n    if lr: run.finish()"
    assert bool(LACKED.findings(PROGRAM.format(adapts="learn.fit(1)", line=line, imports=ALL))) is is_reported


@pytest.mark.parametrize(("line", "is_reported"), [("{}", False), ("if rank_distrib() == 0: {}", True)])
@pytest.mark.parametrize("call", ["distrib_barrier()", "rank0_first(fetch)"])
def test_where_all_processes_wait(line, is_reported, call):
    text = PROGRAM.format(adapts="learn.fit(1)", line=line.format(call), imports=ALL)
    assert bool(WAITING.findings(text)) is is_reported
