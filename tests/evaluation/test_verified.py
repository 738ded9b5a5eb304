"""Released trainers as they were, after `--fix`, and as upstream fixed them; and how such runs are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fork_server import LATER, LIBRARIES, OneForkServer

from evaluation import verified
from evaluation.environments import ENVIRONMENTS, python_of
from evaluation.proof import curve, page
from evaluation.proof.cases import CASES, Case, Failure
from evaluation.proof.curve import Curve
from evaluation.proof.facts import (
    FACTS,
    FLOAT32,
    Fact,
    advised,
    as_one_process,
    facts_of,
    files_of_their_own,
    gap,
    mean_of_the_ranks,
    mended_whole,
    rows,
    same_alone,
    trains_as_one_process,
    true_count,
)
from evaluation.proof.places import below, spelled_out
from evaluation.proof.trials import FIXED, RELEASED, UPSTREAM, Column, Trial, Trials, fits
from evaluation.releases import IndexUnreachable
from evaluation.subjects import NEWEST, SUBJECTS
from evaluation.variations import VARIATIONS
from trl_lint.findings import Applicability, Finding, Fix, Position
from trl_lint.rules import all_rules
from trl_lint.verify.oracles.logged_metrics import TRAINER
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import session
from trl_lint.verify.proof.mending import FixedCopy
from trl_lint.verify.proof.session import Judged, Start
from trl_lint.verify.rank.job import Job
from trl_lint.verify.record.traces import Call, End, Log, Placed, RankRecord, Run, SourcePlace
from trl_lint.verify.record.verdicts import failed, passed

# The first one runs in every run of the tests, in forks; all of them run through torchrun in the slow ones.
MAIN = (
    *("number in a gather, SFT", "rank-0 metrics, DPO", "wrapped config, online DPO"),
    *("cut gathers, SFT", "return before a gather, SDPO"),
)
PLACE = SourcePlace("/home/someone/venv/lib/python3.11/site-packages/trl/trainer/dpo_trainer.py", 1432, "log")


def run_of(*ranks: list[float], name: str = "m") -> Run:
    """A run whose ranks log these values of one metric."""
    logs = [[Log(TRAINER, {name: value}, (PLACE,)) for value in values] for values in ranks]
    return Run([RankRecord(number, logs=each, end=End(0, 0)) for number, each in enumerate(logs)])


def trial_of(case: Case, **runs: tuple[Run, Run]) -> Trial:
    labels = {"released": RELEASED, "fixed": FIXED, "upstream": UPSTREAM}
    columns = {}
    for name, (run, single) in runs.items():
        judged = Judged(name, run, [passed("ends", "all ran")])
        columns[labels[name]] = Column(labels[name], case.release, judged, single, ())
    return Trial(case, columns)


@contextmanager
def in_forks(folder: Path) -> Iterator[Start]:
    """Starts ranks as forks of one process per environment, which has imported everything except the trainers."""
    servers: dict[str, OneForkServer] = {}

    def start(launch: Launch, job: Job, plain: bool) -> Run:
        if launch.python not in servers:
            servers[launch.python] = OneForkServer(launch, folder, (*LIBRARIES, *LATER))
        return servers[launch.python](launch, job, plain)

    try:
        yield start
    finally:
        for server in servers.values():
            server.close()


@contextmanager
def by_torchrun(folder: Path) -> Iterator[Start]:
    yield session.start


METRIC = Case("a case", "dpo", "0.13.0", metrics=("m",))


def test_the_cases_are_of_subjects_releases_variations_and_facts_that_are_known():
    for case in CASES:
        assert case.subject in SUBJECTS
        assert case.release == "1.16.0" or case.subject not in NEWEST
        assert {case.release, case.upstream or case.release} <= set(ENVIRONMENTS)
        named = [VARIATIONS[name] for name in (case.variation, case.by_hand) if name]
        assert {variation.release for variation in named} <= {case.release}
        assert {variation.path for variation in named} <= set(case.files) or not case.files
        assert set(case.facts) <= set(FACTS)
        assert set(case.changed) <= set(case.metrics)
        assert set(case.rules) <= {rule.code for rule in all_rules()}
        assert case.files or not case.by_hand
    assert {case.name for case in CASES} >= set(MAIN)


def test_no_two_cases_have_one_name_on_one_release():
    names = [(case.name, case.release) for case in CASES]
    assert len(set(names)) == len(names)


def test_a_control_is_a_case_that_nothing_is_to_be_mended_of():
    controls = {"a filter of each rank, A2PO", "control, DPO", "control, SFT"}
    assert {case.name for case in CASES if case.is_control} == controls
    assert Case("a case", "sft", "1.16.0").is_control
    assert not Case("a case", "sft", "1.16.0", files=("trl/a.py",)).is_control


def test_cases_are_chosen_by_a_part_of_their_name_or_release():
    assert [case.name for case in verified.chosen_cases("Config, online")] == ["wrapped config, online DPO"]
    assert {case.release for case in verified.chosen_cases("1.16.0")} == {"1.16.0"}
    assert verified.main(["--only", "nothing is called so"]) == 1


def test_places_are_spelled_out_without_what_is_this_machines_own():
    run = run_of([1.0])
    run.ranks[0].calls = [
        Call(0, "gather", None, "", None, None, None, (SourcePlace("/somewhere/trainer.py", 7, "f"),))
    ]
    said = "at dpo_trainer.py:1432 (log), called from trainer.py:7 (f)"
    assert spelled_out(said, run) == "at trl/trainer/dpo_trainer.py:1432 (log), called from trainer.py:7 (f)"
    assert spelled_out(spelled_out(said, run), run) == spelled_out(said, run)
    assert below(str(Path(verified.__file__))) == "evaluation/verified.py"


def test_a_failure_names_the_way_the_metrics_the_words_and_the_place():
    verdict = failed("same metric", "metric", "they differ", metrics={"a": 1, "b": 2})
    said = ["they differ", "at trl/x.py:3 (f)"]
    assert fits(Failure("same metric", "metric", ("b", "a"), "differ", "trl/x.py:3"), verdict, said)
    assert fits(Failure("same metric", "metric"), verdict, said)
    assert not fits(Failure("same metric", "value"), verdict, said)
    assert not fits(Failure("same metric", "metric", ("a",)), verdict, said)
    assert not fits(Failure("same metric", "metric", place="trl/x.py:4"), verdict, said)


def test_a_column_is_right_when_exactly_the_expected_oracles_fail():
    judged = Judged("", run_of([1.0]), [passed("ends", "all ran"), failed("same metric", "metric", "they differ")])

    def is_right(*expected: Failure) -> bool:
        return Column(RELEASED, "0.13.0", judged, run_of([1.0]), expected).as_expected

    assert is_right(Failure("same metric", "metric"))
    assert not is_right()
    assert not is_right(Failure("same metric", "metric"), Failure("ends", "abort"))


def test_rows_are_the_values_of_all_ranks_by_call():
    assert rows(run_of([1.0, 2.0], [3.0, 4.0]), "m") == [[1.0, 3.0], [2.0, 4.0]]
    assert rows(run_of([1.0]), "another") == []


def test_series_of_different_length_or_of_none_are_never_near():
    assert gap("m", [1.0, 2.5], [1.0, 2.0], [1.0, 4.0]).largest == 0.5
    assert gap("m", [1.0, 2.5], [1.0, 2.0], [1.0, 4.0]).within(0.125)
    assert not gap("m", [1.0], [1.0, 2.0], [2.0]).within(1e9)
    assert not gap("m", [], [], [0.0]).within(1e9)


@pytest.mark.parametrize(("logged", "holds"), [(2.0, True), (2.0 + 3 * FLOAT32, True), (2.001, False)])
def test_what_is_logged_after_the_fix_is_the_mean_of_what_was(logged, holds):
    before, after = run_of([1.0], [3.0]), run_of([logged], [logged])
    assert mean_of_the_ranks(trial_of(METRIC, released=(before, before), fixed=(after, after))).holds is holds


@pytest.mark.parametrize(("upstream", "holds"), [(4.0, True), (5.0, False)])
def test_a_count_is_that_of_one_process_and_of_upstream(upstream, holds):
    counted, broken = run_of([4.0], [4.0]), run_of([], [])
    trial = trial_of(
        METRIC,
        released=(broken, counted),
        fixed=(counted, counted),
        upstream=(run_of([upstream], [upstream]), counted),
    )
    assert true_count(trial).holds is holds


@pytest.mark.parametrize(("released", "fixed", "holds"), [(3.0, 4.0, True), (4.0, 4.0, False), (3.0, 4.1, False)])
def test_one_process_says_what_is_right(released, fixed, holds):
    true = run_of([4.0])
    before, after = run_of([released], [released]), run_of([fixed], [fixed])
    trial = trial_of(METRIC, released=(before, true), fixed=(after, true))
    assert as_one_process(trial).holds is holds


@pytest.mark.parametrize(("logged", "loss", "holds"), [(4.0, 0.5, True), (5.0, 0.5, False), (4.0, 0.6, False)])
def test_one_process_is_left_as_it_was(logged, loss, holds):
    before, after = run_of([4.0]), run_of([logged])
    before.ranks[0].losses, after.ranks[0].losses = [0.5], [loss]
    trial = trial_of(METRIC, released=(before, before), fixed=(after, after))
    assert same_alone(trial).holds is holds


@pytest.mark.parametrize(("released", "fixed", "holds"), [(0.4, 0.5, True), (0.5, 0.5, False), (0.4, 0.6, False)])
def test_training_is_that_of_one_process_after_the_fix_alone(released, fixed, holds):
    runs = [run_of([1.0]) for _ in range(3)]
    for run, loss in zip(runs, (released, fixed, 0.5), strict=True):
        run.ranks[0].losses = [loss]
    trial = trial_of(METRIC, released=(runs[0], runs[2]), fixed=(runs[1], runs[2]))
    assert trains_as_one_process(trial).holds is holds


@pytest.mark.parametrize(("second", "holds"), [("/tmp/cache-b.arrow", True), ("/tmp/cache-a.arrow", False)])
def test_files_of_their_own_are_those_that_no_other_rank_makes(second, holds):
    run = run_of([1.0], [1.0])
    for rank, file in zip(run.ranks, ("/tmp/cache-a.arrow", second), strict=True):
        rank.placed = [Placed(file, ())]
    assert files_of_their_own(trial_of(METRIC, released=(run, run), fixed=(run, run))).holds is holds


def finding(line: int, level: Applicability) -> Finding:
    at = Position(line, 1)
    return Finding("TRL006", "divergent-collective", "m", "a.py", at, at, fix=Fix(level, "t"))


def test_all_that_fix_offers_must_be_mended():
    safe, hint = finding(3, Applicability.SAFE), finding(5, Applicability.DISPLAY)
    case = Case("a case", "sft", "1.16.0", files=("trl/a.py",))
    assert mended_whole(Trial(case, mended=FixedCopy(findings=[safe, hint], applied=[safe]))).holds
    assert not mended_whole(Trial(case, mended=FixedCopy(findings=[safe, hint], applied=[]))).holds


def test_what_is_done_by_hand_is_reported_before_and_gone_afterwards():
    hint = finding(5, Applicability.DISPLAY)
    case = Case("a case", "sft", "1.16.0", files=("trl/a.py",), by_hand="a variation")
    reported = FixedCopy(findings=[hint])
    assert advised(Trial(case, mended=reported)).holds
    assert not advised(Trial(case)).holds
    assert not advised(Trial(case, mended=reported, rest=reported)).holds


def test_the_page_has_no_paths_ports_or_folders_of_a_machine():
    said = ("at dpo_trainer.py:1432 (log)", "rank 0: RuntimeError: [127.0.0.1]:1234: gone (an echo)")
    verdict = failed("ends", "abort", "rank 1: abort: [enforce fail at /__w/torch/pair.cc:456] 2 vs 1", said)
    run = run_of([1.0], [2.0])
    trial = Trial(CASES[0], {RELEASED: Column(RELEASED, "0.13.0", Judged("", run, [verdict]), run, ())})
    text = page.page([(trial, [Fact(True, "It holds.")])], 2)
    assert "[enforce fail at pair.cc:456]" in text
    assert "at trl/trainer/dpo_trainer.py:1432 (log)" in text
    assert "rank 0: loses its connection (an echo)" in text
    assert not {word for word in ("/__w", "1234", "/home", page.PLOT) if word in text}


def test_the_same_curves_give_the_same_plot(tmp_path):
    pytest.importorskip("matplotlib")
    before, after = Curve([0.0, 1.0], [0.5, 1.0]), Curve([0.5, 1.0], [0.5, 1.0])
    for name in ("first.svg", "second.svg"):
        curve.draw(before, after, tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()
    assert (before.off, before.distance, after.off) == (1, 0.25, 0)


@pytest.mark.index
@pytest.mark.released
@pytest.mark.parametrize(
    ("name", "start"),
    [
        pytest.param(MAIN[0], in_forks, id=f"{MAIN[0]}, in forks", marks=pytest.mark.slow),
        *(pytest.param(name, by_torchrun, id=name, marks=pytest.mark.slow) for name in MAIN),
    ],
)
def test_released_code_fails_as_it_must_and_trains_after_the_fix(name, start, tmp_path):
    """It needs an environment of its own and is slow; the fixtures of the same rules run in every run of the tests."""
    case = next(case for case in CASES if case.name == name)
    try:
        for release in {case.release, case.upstream or case.release}:
            python_of(release)
    except IndexUnreachable as error:
        pytest.skip(f"no environment for trl: {error}")
    with start(tmp_path) as started:
        trial = Trials(tmp_path, start=started).run(case)
    facts = facts_of(trial)
    assert set(trial.columns) == {RELEASED, FIXED, *([UPSTREAM] if case.upstream else [])}
    assert verified.is_right(trial, facts), page.printed(trial, facts)
