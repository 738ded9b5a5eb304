"""Figures that must hold for a case's runs beyond the verdicts: by how much they differ, and what is allowed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from evaluation.proof.places import below
from evaluation.proof.trials import FIXED, RELEASED, UPSTREAM, Trial
from trl_lint.findings import Applicability, Finding
from trl_lint.verify.oracles import training
from trl_lint.verify.oracles.logged_metrics import TRAINER, metrics_of
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Outcome

# Half the distance of two float32 numbers near 1: what one rounding may cost.
FLOAT32 = 2.0**-24
# Two releases add float32 numbers in different orders; their metrics are means and differences of numbers of size 1 to
# 20 (logits, log-probabilities), whose float32 neighbours are 1e-7 to 2e-6 apart.
BETWEEN_RELEASES = 1e-6


@dataclass(frozen=True)
class Fact:
    """A sentence with its figures, and whether it is as it must be."""

    holds: bool
    text: str


@dataclass(frozen=True)
class Gap:
    """The largest distance between two series of one metric, and the size of their values."""

    metric: str
    largest: float
    size: float

    def within(self, tolerance: float, at_least: float = 0.0) -> bool:
        """Whether it is at most this part of the values' size (or of `at_least`, if they are smaller)."""
        return self.largest <= tolerance * max(self.size, at_least)


def rows(run: Run, metric: str) -> list[list[float]]:
    """The values of a metric that Trainer was given to log, call by call: those of all ranks."""
    found = metrics_of(run).get((TRAINER, metric))
    return [values for _, values in found.rows({rank.number for rank in run.ranks})] if found else []


def gap(metric: str, ours: Sequence[float], theirs: Sequence[float], sizes: Sequence[float]) -> Gap:
    """The gap between two series; infinite if they differ in length, or are empty and so say nothing."""
    if not ours or len(ours) != len(theirs):
        return Gap(metric, float("inf"), 1.0)
    return Gap(metric, max(abs(a - b) for a, b in zip(ours, theirs, strict=True)), max(sizes))


def equal_on_all_ranks(trial: Trial) -> Fact:
    spread = [
        max((max(row) - min(row) for row in rows(trial.columns[FIXED].run, name)), default=float("inf"))
        for name in trial.case.metrics
    ]
    text = f"{_mended(trial)} the ranks differ by {max(spread):.3g} at most in {_count(trial)}. Allowed is 0."
    return Fact(max(spread) == 0, text)


def mean_of_the_ranks(trial: Trial) -> Fact:
    """Each value logged after the fix is the mean of what the ranks would have logged before."""
    count = len(trial.columns[RELEASED].run.ranks)
    gaps = list(_gaps_to_the_mean(trial))
    worst = max(gaps, key=lambda each: each.largest)
    text = (
        f"After `--fix` each value is the mean over the ranks of what they logged as released: off by at most "
        f"{worst.largest:.2g} (`{worst.metric}`, whose values reach {worst.size:.3g}). "
        f"Allowed is {count} · 2^-24 of the largest value, one float32 rounding per rank."
    )
    return Fact(all(each.within(count * FLOAT32) for each in gaps), text)


def _gaps_to_the_mean(trial: Trial) -> Iterator[Gap]:
    for name in trial.case.metrics:
        before = rows(trial.columns[RELEASED].run, name)
        logged = [row[0] for row in rows(trial.columns[FIXED].run, name)]
        yield gap(name, logged, [fmean(row) for row in before], _sizes(before))


def as_upstream(trial: Trial) -> Fact:
    """Each value is the one that upstream's fixed release logs."""
    gaps = []
    names = [name for name in trial.case.metrics if name not in trial.case.changed]
    for name in names:
        ours, theirs = (rows(trial.columns[label].run, name) for label in (FIXED, UPSTREAM))
        sizes = _sizes(rows(trial.columns[RELEASED].run, name))
        gaps.append(gap(name, [row[0] for row in ours], [row[0] for row in theirs], sizes))
    worst = max(gaps, key=lambda each: each.largest)
    text = (
        f"After `--fix` each value of {len(names)} metrics is that of trl {trial.case.upstream}: off by at most "
        f"{worst.largest:.2g} (`{worst.metric}`, whose values reach {worst.size:.3g}). Allowed is {BETWEEN_RELEASES:g} "
        "of the largest value, or of 1 where that is less: the two add up float32 numbers in another order, and what "
        "is small here is a difference or a mean of larger numbers."
    )
    return Fact(all(each.within(BETWEEN_RELEASES, at_least=1.0) for each in gaps), text)


def same_training(trial: Trial) -> Fact:
    verdict = training.judge_pair(trial.columns[RELEASED].judged.run, trial.columns[FIXED].judged.run)
    exact = verdict.outcome is Outcome.PASSED and not any(verdict.data.values())
    return Fact(exact, f"As released and {_mended(trial).lower()}: {verdict.summary}. Allowed is no difference.")


def trains_as_one_process(trial: Trial) -> Fact:
    """The loss is that of one process on the same rows, step by step, after the fix and not before it."""
    series = []
    for label in (RELEASED, FIXED):
        column = trial.columns[label]
        ours = [fmean(each) for each in zip(*(rank.losses for rank in column.run.ranks), strict=True)]
        series.append((ours, gap("loss", ours, column.single.ranks[0].losses, column.single.ranks[0].losses or [1.0])))
    (before, wrong), (after, right) = series
    true = trial.columns[FIXED].single.ranks[0].losses
    text = (
        f"The losses of {trial.case.steps} steps are {_listed(before)} as released, {_listed(after)} "
        f"{_mended(trial).lower()}, and {_listed(true)} on one process that reads the same rows: off by at most "
        f"{wrong.largest:.2g} and {right.largest:.2g}. Allowed is {BETWEEN_RELEASES:g} of the loss."
    )
    return Fact(right.within(BETWEEN_RELEASES) and not wrong.within(BETWEEN_RELEASES), text)


def trains_to_the_end(trial: Trial) -> Fact:
    """The fixed copy takes all its steps on all ranks."""
    column = trial.columns[FIXED]
    taken = [len(rank.losses) for rank in column.run.ranks]
    steps = ", ".join(map(str, taken))
    wanted = trial.case.steps
    ended = column.judged.ended_well and all(number == wanted for number in taken)
    return Fact(ended, f"{_mended(trial)} the ranks take {steps} of {wanted} steps and end.")


def true_count(trial: Trial) -> Fact:
    """All ranks together count what one process counts on the same batches, before and after the fix."""
    name = trial.case.metrics[0]
    fixed, upstream = ([row[0] for row in rows(trial.columns[label].run, name)] for label in (FIXED, UPSTREAM))
    singles = [[row[0] for row in rows(trial.columns[label].single, name)] for label in (RELEASED, FIXED)]
    text = (
        f"`{name}` by step after `--fix`: {_listed(fixed)}. "
        f"One process on the same batches counts {_listed(singles[1])}, and {_listed(singles[0])} as released. "
        f"trl {trial.case.upstream} counts {_listed(upstream)} on all ranks. Allowed is no difference."
    )
    return Fact(bool(fixed) and fixed == upstream == singles[0] == singles[1], text)


def as_one_process(trial: Trial) -> Fact:
    """After the fix rank 0 logs what one process logs on the same rows; as released it does not."""
    names = trial.case.metrics
    before, after = ([_from_the_truth(trial, label, name) for name in names] for label in (RELEASED, FIXED))
    worst = max(after, key=lambda each: each.largest)
    name = names[0]
    logged = [[row[0] for row in rows(trial.columns[label].run, name)] for label in (RELEASED, FIXED)]
    true = [row[0] for row in rows(trial.columns[FIXED].single, name)]
    text = (
        f"`{name}` is {_listed(logged[0])} as released and {_listed(logged[1])} {_mended(trial).lower()}; one process "
        f"that reads the same rows has {_listed(true)}. {_mended(trial)} {_count(trial)} are off by at most "
        f"{worst.largest:.2g} (`{worst.metric}`); as released, each is off by "
        f"{min(each.largest for each in before):.2g} or more. Allowed is {BETWEEN_RELEASES:g} of the largest value, or "
        "of 1 where that is less."
    )
    right = [each.within(BETWEEN_RELEASES, at_least=1.0) for each in after]
    wrong = [not each.within(BETWEEN_RELEASES, at_least=1.0) for each in before]
    return Fact(all(right) and all(wrong), text)


def _from_the_truth(trial: Trial, label: str, name: str) -> Gap:
    """The gap between what rank 0 logs of a metric and what the single process logs."""
    column = trial.columns[label]
    true = rows(column.single, name)
    return gap(name, [row[0] for row in rows(column.run, name)], [row[0] for row in true], _sizes(true))


def same_alone(trial: Trial) -> Fact:
    """One process logs and trains the same with the fixed files as with the released ones."""
    before, after = (trial.columns[label].single for label in (RELEASED, FIXED))
    verdict = training.judge_pair(before, after)
    logged = {name for sink, name in metrics_of(before) if sink == TRAINER}
    exact = (
        verdict.outcome is Outcome.PASSED
        and not any(verdict.data.values())
        and bool(logged)
        and all(rows(before, name) == rows(after, name) for name in logged)
    )
    said = f"One process logs the same {len(logged)} metrics with the released file and the fixed one"
    return Fact(exact, f"{said}; {verdict.summary}. Allowed is no difference.")


def files_of_their_own(trial: Trial) -> Fact:
    """No rank creates a cache that another one creates, or could read: an order would gain nothing."""
    ranks = trial.columns[RELEASED].run.ranks
    made = [{file for placed in rank.placed if _is_cache(file := placed.file)} for rank in ranks]
    files = set().union(*made)
    text = f"{len(made)} ranks make {len(files)} caches, one each: an order would keep no rank from any work."
    return Fact(len(files) == len(made) and all(made), text)


def _is_cache(file: str) -> bool:
    """Whether a file is a cache of a `map` or a `filter` of `datasets`."""
    return Path(file).name.startswith("cache-")


def _mended(trial: Trial) -> str:
    return "Fixed by hand" if trial.case.by_hand else "After `--fix`"


def rewritten_launch(trial: Trial) -> Fact:
    """`--fix` replaces the interpreter by the launcher, and keeps every argument."""
    before, after = trial.lines
    arguments = before.removeprefix("python -u ")
    kept = after == f"PYTHONUNBUFFERED=1 accelerate launch {arguments}" and bool(trial.applied) and not trial.left
    shown = shlex.join(below(word) for word in shlex.split(arguments))
    text = f"`--fix` makes `{after.removesuffix(arguments)}…` of `python -u …`, where `…` is `{shown}`."
    return Fact(kept, text)


def loss_of_one_process(trial: Trial) -> Fact:
    """Step by step, the mean of the ranks' losses is the loss of one process on the same rows."""
    column = trial.columns[FIXED]
    ours = [fmean(each) for each in zip(*(rank.losses for rank in column.run.ranks), strict=True)]
    theirs = column.single.ranks[0].losses
    off = gap("loss", ours, theirs, theirs or [1.0])
    text = (
        f"After `--fix` it trains to the end on {len(column.run.ranks)} processes, with the loss of one process on the "
        f"same rows: {', '.join(f'{each:.6f}' for each in ours)} at its {len(ours)} steps, off by at most "
        f"{off.largest:.2g}. Allowed is {BETWEEN_RELEASES:g} of the loss, as float32 numbers are added up in another "
        "order."
    )
    ended = column.judged.ended_well and len(ours) == trial.case.steps
    return Fact(ended and off.within(BETWEEN_RELEASES), text)


def _count(trial: Trial) -> str:
    names = trial.case.metrics
    return f"`{names[0]}`" if len(names) == 1 else f"the {len(names)} metrics"


def _sizes(values: Sequence[Sequence[float]]) -> list[float]:
    return [max(map(abs, row)) for row in values] or [0.0]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values) or "nothing"


FACTS: dict[str, Callable[[Trial], Fact]] = {
    "as one process": as_one_process,
    "as upstream": as_upstream,
    "equal on all ranks": equal_on_all_ranks,
    "files of their own": files_of_their_own,
    "loss of one process": loss_of_one_process,
    "mean of the ranks": mean_of_the_ranks,
    "rewritten launch": rewritten_launch,
    "same alone": same_alone,
    "same training": same_training,
    "trains as one process": trains_as_one_process,
    "trains to the end": trains_to_the_end,
    "true count": true_count,
}


def mended_whole(trial: Trial) -> Fact:
    """At least one finding was fixed, and none is left for which `--fix` has a safe fix."""
    files = ", ".join(f"`{file}`" for file in trial.case.files)
    count = f"{len(trial.applied)} of {len(trial.mended.findings)} findings"
    text = f"`--fix` fixes {count} in {files} ({_lines_of(trial.applied)})."
    if trial.left:
        text += f" Left to the user: {_lines_of(trial.left)}."
    is_left = any(each.fix and each.fix.applicability is Applicability.SAFE for each in trial.left)
    return Fact(bool(trial.applied) and not is_left, text)


def advised(trial: Trial) -> Fact:
    """What `--fix` leaves to the user is reported; once it is fixed by hand, `--fix` leaves nothing."""
    files = ", ".join(f"`{file}`" for file in trial.case.files)
    first = trial.left[0] if trial.left else None
    text = f"`trl-lint` reports in {files} what it leaves to the user ({_lines_of(trial.left)})"
    if first is not None:
        places = " → ".join(f"`{below(each.path)}:{each.start.line}` {each.text}" for each in first.because)
        text += f": “{first.message}”, as of {places}. It says: “{first.help}”."
    text += f" `{trial.case.by_hand}` does that"
    text += f", and `--fix` fixes the rest ({_lines_of(trial.rest.applied)})." if trial.rest.applied else "."
    left = [each for each in trial.rest.findings if each not in trial.rest.applied]
    return Fact(bool(trial.left) and not left, text + (f" Then still there: {_lines_of(left)}." if left else ""))


def _lines_of(findings: Sequence[Finding]) -> str:
    lines: dict[str, list[str]] = {}
    for finding in findings:
        lines.setdefault(finding.code, []).append(str(finding.start.line))
    return "; ".join(f"{code} at line{'s' * (len(at) > 1)} {', '.join(at)}" for code, at in lines.items())


def facts_of(trial: Trial) -> list[Fact]:
    """Everything that must hold for a case, according to its row."""
    first = [(advised if trial.case.by_hand else mended_whole)(trial)] if trial.case.files else []
    return [*first, *(FACTS[name](trial) for name in trial.case.facts)]
