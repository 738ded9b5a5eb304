"""*same metric*: a logged metric of the run is equal on all ranks.

A tracker shows what one rank logs. If the ranks disagree, the shown value is about that rank's share of the data. A
metric of only one rank has nothing to be compared with; for it a second run is made, in which that rank reads the share
of its neighbour: a metric of all ranks does not depend on who read what.
"""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint.reports import many
from trl_lint.verify.oracles.logged_metrics import CONTROL, TRAINER, Metric, is_control, metrics_of
from trl_lint.verify.oracles.tolerance import (
    BETWEEN_RANKS,
    BETWEEN_RUNS,
    all_same,
    as_text,
    is_same,
    mean,
    relative_difference,
)
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Evidence, Verdict, failed, passed, unknown

ORACLE = "same metric"


def one_sided(run: Run) -> list[Metric]:
    """The metrics that some ranks log and others do not."""
    ranks = {rank.number for rank in run.ranks}
    return [metric for metric in metrics_of(run).values() if set(metric.values) != ranks]


def judge(run: Run, moved: Run | None = None) -> Verdict:
    """Whether all metrics are those of all ranks. `moved`: the same run with each share read by the next rank."""
    if len(run.ranks) < 2:
        return unknown(ORACLE, "there is one rank only")
    found = metrics_of(run)
    unsteady = sorted({name for _, name in run.unsteady})
    left_out = [f"{name}: not compared, as the same rank has another one when it runs again" for name in unsteady]
    if not found:
        return unknown(ORACLE, "; ".join(left_out) or "nothing was logged")
    ranks = {rank.number for rank in run.ranks}
    rows = {metric.key: list(metric.rows(ranks)) for metric in found.values() if set(metric.values) == ranks}
    names = [f"rank {rank}" for rank in sorted(ranks)]
    worst = [_Unequal(found[key], names, values) for key, values in rows.items() if not _equal(values)]
    is_compared = moved is not None and has_moved(run, moved)
    if moved is not None and is_compared:
        worst += _unequal_when_moved(one_sided(run), moved)
    if not worst and not rows and not is_compared:
        return unknown(ORACLE, f"{many(len(found), 'metric')} that one rank logs, not compared")
    if not worst:
        return passed(ORACLE, _counted(found, rows, is_compared), left_out, metrics=sorted({name for _, name in found}))
    return failed(
        ORACLE,
        "metric",
        f"{_listed([each.metric.name for each in worst])}: not the same on all ranks; {_control(rows, found)}",
        [*(each.line() for each in worst), *left_out],
        metrics={each.metric.name: each.data() for each in worst},
        control={name: _equal(rows[TRAINER, name]) for name in CONTROL if (TRAINER, name) in rows},
    )


def _equal(rows: Sequence[tuple[int, list[float]]], tolerance: float = BETWEEN_RANKS) -> bool:
    return all(all_same(values, tolerance) for _, values in rows)


def has_moved(run: Run, moved: Run) -> bool:
    """Whether a run with moved shares is conclusive.

    Scripts may distribute their data themselves, or not be repeatable: then the mean of the first losses differs.
    """
    if not (any(rank.moved for rank in moved.ranks) and all(rank.ended_well for rank in moved.ranks)):
        return False
    firsts = [[rank.losses[0] for rank in each.ranks if rank.losses] for each in (run, moved)]
    return not all(firsts) or is_same(mean(firsts[0]), mean(firsts[1]), BETWEEN_RANKS, scale=1.0)


def _unequal_when_moved(metrics: Sequence[Metric], moved: Run) -> list[_Unequal]:
    after = metrics_of(moved)
    found = []
    for metric in metrics:
        for rank in sorted(set(metric.values) & set(after[metric.key].values if metric.key in after else ())):
            pair = Metric(
                metric.sink, metric.name, {0: metric.values[rank], 1: after[metric.key].values[rank]}, metric.at
            )
            rows = list(pair.rows({0, 1}))
            if not _equal(rows, BETWEEN_RUNS):
                names = [f"rank {rank}", f"rank {rank} with the next rank's share"]
                found.append(_Unequal(pair, names, rows))
                break
    return found


class _Unequal:
    """A metric that differs, and the log in which it differs most."""

    def __init__(self, metric: Metric, names: Sequence[str], rows: Sequence[tuple[int, list[float]]]) -> None:
        self.metric, self.names, self.rows = metric, names, rows
        self.call, self.values = max(rows, key=lambda row: max(row[1]) - min(row[1]))
        self.mean = mean(self.values)

    def line(self) -> str:
        each = ", ".join(f"{name}: {as_text(value)}" for name, value in zip(self.names, self.values, strict=True))
        off = as_text(abs(self.values[0] - self.mean))
        share = f" ({relative_difference(self.values, self.mean):.0%})" if self.mean else ""
        where = f" [{self.metric.at[0]}]" if self.metric.at else ""
        return (
            f"{self.metric.name}, log no. {self.call + 1}: {each}; the mean is {as_text(self.mean)}, "
            f"so a reader of {self.names[0]} is off by {off}{share}{where}"
        )

    def data(self) -> dict[str, Evidence]:
        return {"call": self.call, "values": self.values, "mean": self.mean, "error": abs(self.values[0] - self.mean)}


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}"


def _control(rows: dict[tuple[str, str], list[tuple[int, list[float]]]], found: dict[tuple[str, str], Metric]) -> str:
    known = [key for key, metric in found.items() if is_control(metric) and key in rows]
    if not known:
        return "no control is logged"
    equal = [key[1] for key in known if _equal(rows[key])]
    differing = [key[1] for key in known if key[1] not in equal]
    parts = [f"{_listed(equal)} equal on all"] * bool(equal) + [f"{_listed(differing)} not"] * bool(differing)
    return f"control: {', '.join(parts)}"


def _counted(
    found: dict[tuple[str, str], Metric], rows: dict[tuple[str, str], list[tuple[int, list[float]]]], is_compared: bool
) -> str:
    single = len(found) - len(rows)
    if not single:
        return f"{many(len(found), 'metric')}, equal on all ranks; {_control(rows, found)}"
    how = "the same whichever share that rank reads" if is_compared else "not compared"
    return f"{many(len(rows), 'metric')}, equal on all ranks; {single} that one rank logs, {how}"
