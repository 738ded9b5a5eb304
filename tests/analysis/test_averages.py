"""The facts on means over a rank-local count, independent of any rule: `own` of the revealed values."""

from __future__ import annotations

import pytest

from trl_lint.analysis.events import Averaged, Event, Revealed
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.program.project.project import Project
from trl_lint.domain.averaging import NOTHING, AveragingFact, MeanForm, Stage

HEAD = """\
import torch
from accelerate import Accelerator

def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        x = model(**batch).logits
        mask = batch["labels"] != -100
        mean = (x * mask).sum() / mask.sum()
"""


def events(tmp_path, body: str) -> list[Event]:
    path = tmp_path / "program.py"
    path.write_text(HEAD + "".join(f"        {line}\n" for line in body.splitlines()))
    project = Project((tmp_path,))
    return Engine(project).analyse(project.module(path))


def own(tmp_path, expression: str) -> AveragingFact:
    (revealed,) = [each for each in events(tmp_path, f"reveal_rank({expression})") if isinstance(each, Revealed)]
    return revealed.value.averaging or NOTHING


@pytest.mark.parametrize(
    ("expression", "selected"),
    [("x[mask]", True), ("x[mask] * 2", True), ("x[mask].detach()", True), ("x[0]", False), ("x[mask].sum()", False)],
)
def test_what_the_data_select(tmp_path, expression, selected):
    assert own(tmp_path, expression).selected is selected


@pytest.mark.parametrize(
    ("expression", "total"),
    [
        ("mask.sum()", True),
        ("mask.sum().clamp(min=1)", True),
        ("max(mask.sum(), 1)", True),
        ("mask.sum().item() + 1e-8", True),
        ("x[mask].numel()", True),
        ("mask.sum(-1)", False),
        ("mask.shape[0]", False),
        ("accelerator.reduce(mask.sum())", False),
    ],
)
def test_what_a_count_can_be(tmp_path, expression, total):
    assert own(tmp_path, expression).total is total


@pytest.mark.parametrize(
    ("expression", "form"),
    [
        ("mean", MeanForm.RATIO),
        ("x[mask].mean()", MeanForm.SELECTED),
        ("x.nanmean()", MeanForm.NAN),
        ("-mean * 2 + 1", MeanForm.RATIO),
        ("mean.exp()", MeanForm.RATIO),
    ],
)
def test_what_is_a_mean_over_a_count_of_this_rank_s_own(tmp_path, expression, form):
    (mean,) = own(tmp_path, expression).means
    assert mean.form is form


@pytest.mark.parametrize("expression", ["x.mean()", "mean * mask.sum()", "mean * other()", "mean.log()", "mean > 0"])
def test_what_is_none(tmp_path, expression):
    assert not own(tmp_path, expression).means


@pytest.mark.parametrize(
    ("expression", "stage"),
    [
        ("mean", Stage.LOCAL),
        ("mean / accelerator.num_processes", Stage.SHARED),
        ("accelerator.gather(mean)", Stage.GATHERED),
        ("accelerator.gather(mean).sum()", Stage.SUMMED),
        ("accelerator.reduce(mean)", Stage.SUMMED),
    ],
)
def test_its_way_over_the_ranks(tmp_path, expression, stage):
    assert own(tmp_path, expression).stage is stage


def test_the_end_of_the_way_is_an_event(tmp_path):
    body = "y = accelerator.gather(mean).mean()"
    (averaged,) = [each for each in events(tmp_path, body) if isinstance(each, Averaged)]
    (mean,) = averaged.means
    assert (mean.form, mean.trained, averaged.passed_by) == (MeanForm.RATIO, False, frozenset())


def test_what_is_trained_is_known_afterwards(tmp_path):
    body = "y = accelerator.gather(mean).mean()\nloss = x.sum() + mean.exp()\nloss.backward()"
    (averaged,) = [each for each in events(tmp_path, body) if isinstance(each, Averaged)]
    assert all(mean.trained for mean in averaged.means)
