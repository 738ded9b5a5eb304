"""`--plot`: which metrics are drawn, with which values, and what can't be drawn."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from fake_runs import logging

from trl_lint.frontends.cli import main
from trl_lint.verify.processes.environment import Unusable
from trl_lint.verify.proof.proofs import Column, Proof
from trl_lint.verify.proof.session import Judged
from trl_lint.verify.record import verdicts
from trl_lint.verify.record.traces import Run
from trl_lint.verify.reports import plot

LOCAL = [[0.0, 1.0], [0.5, 1.0]]
GLOBAL = [[0.5, 0.5], [0.75, 0.75]]


def proof(*runs: list[list[float]], true: bool = False) -> Proof:
    end = verdicts.passed("true value", "") if true else verdicts.unknown("true value", "not run on one process")
    columns = [Column(Judged(str(number), Run(logging(each)), [end]), True) for number, each in enumerate(runs)]
    single = Run(logging([[0.5], [0.75]]))
    return Proof("train.py", columns, single=lambda: single)


def test_by_step_the_values_of_all_ranks() -> None:
    made = proof(LOCAL, GLOBAL)
    before, after = (plot.series_of(made, column)["rewards/accuracies"] for column in made.columns)
    assert (before.rows, before.differs, before.true) == (LOCAL, 2, ())
    assert (after.rows, after.differs) == (GLOBAL, 0)


def test_what_one_process_has_where_it_can_be_compared() -> None:
    made = proof(LOCAL, true=True)
    assert plot.series_of(made, made.columns[0])["rewards/accuracies"].true == [0.5, 0.75]


def test_metrics_that_differ_come_first_and_alone() -> None:
    made = proof(LOCAL)
    for rank in made.columns[0].judged.run.ranks:
        rank.logs = [log.__class__(log.sink, {**log.values, "same": 1.0}, log.at) for log in rank.logs]
    assert plot.metrics_to_draw(made) == ["rewards/accuracies"]
    assert plot.metrics_to_draw(proof(GLOBAL)) == ["rewards/accuracies"]


def test_the_picture_is_written_and_is_the_same_twice(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    assert plot.draw(proof(LOCAL, GLOBAL), first)
    assert plot.draw(proof(LOCAL, GLOBAL), second)
    assert ElementTree.parse(first).getroot().tag.endswith("svg")
    assert first.read_bytes() == second.read_bytes()


def test_without_awaitedrics_there_is_nothing_to_draw(tmp_path: Path) -> None:
    assert not plot.draw(Proof("train.py", [Column(Judged("0", Run([]), []), True)]), tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "said"),
    [("a.txt", "it has to end in one of .pdf, .png, .svg"), ("missing/a.svg", "there is no folder missing")],
)
def test_what_can_not_be_drawn_is_said_at_once(tmp_path: Path, monkeypatch, name: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("raise SystemExit('was run')\n")
    done = CliRunner().invoke(main, ["verify", "--plot", name, "train.py"])
    assert done.exit_code == 2
    assert said in done.stderr
    with pytest.raises(Unusable):
        plot.check(tmp_path / name)
