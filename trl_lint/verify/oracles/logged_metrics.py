"""The metrics of a run, by log sink and name, as each rank passed them to the sink."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from trl_lint.knowledge.heuristics import CLOCK_METRIC, METRIC_OF_ONE_RANK
from trl_lint.verify.oracles.tolerance import BETWEEN_RUNS, is_same
from trl_lint.verify.record.traces import Run, SourcePlace

# Metrics that Trainer itself already averages over all ranks: the control of each run.
CONTROL = ("loss", "grad_norm", "learning_rate")
TRAINER = "Trainer.log"
# The tolerance between two runs of the same program, which add up the same values, possibly in another order.
REPEATED = 1e-9
# The largest share of the difference between ranks that may also occur between two runs of one rank.
MOST_NOISE = 0.1


@dataclass(slots=True)
class Metric:
    """One metric: by rank, its values, by the number of earlier values.

    Calls of the sink with other metrics are not counted: one rank may log more of those than the others.
    """

    sink: str
    name: str
    values: dict[int, dict[int, float]] = field(default_factory=dict)
    at: tuple[SourcePlace, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return (self.sink, self.name)

    def rows(self, ranks: Mapping[int, object] | set[int]) -> Iterator[tuple[int, list[float]]]:
        """By log, the values of these ranks, if all of them have one."""
        each = [self.values.get(rank, {}) for rank in sorted(ranks)]
        for call in sorted(set.intersection(*map(set, each))) if each else ():
            yield call, [values[call] for values in each]


def metrics_of(run: Run) -> dict[tuple[str, str], Metric]:
    """All metrics of a run except those of the clock, those of one rank, and those that vary between runs."""
    found: dict[tuple[str, str], Metric] = {}
    for rank in run.ranks:
        for log in rank.logs:
            for name, value in log.values.items():
                is_known = name in log.of_one_rank or (log.sink, name) in run.unsteady
                if not (is_known or CLOCK_METRIC.fits(name) or METRIC_OF_ONE_RANK.fits(name)):
                    metric = found.setdefault((log.sink, name), Metric(log.sink, name, at=log.at))
                    values = metric.values.setdefault(rank.number, {})
                    values[len(values)] = value
    return found


def unsteady(run: Run, again: Run) -> frozenset[tuple[str, str]]:
    """The metrics of a rank that change in a second run of the program: those of a clock or the machine, not of data.

    If both runs trained identically, so must everything that follows from the data. Otherwise the ranks' difference is
    significant if it is far larger than that between the runs.
    """
    before, after = metrics_of(run), metrics_of(again)
    is_exact = all(
        (ours.losses, ours.grad_norms) == (theirs.losses, theirs.grad_norms)
        for ours, theirs in zip(run.ranks, again.ranks, strict=False)
    )
    repeats = _repeats_exactly if is_exact else _differs_more_between_ranks
    return frozenset(key for key, metric in before.items() if key not in after or not repeats(metric, after[key]))


def _pairs(before: Metric, after: Metric) -> list[tuple[float, float]] | None:
    """By rank, the values of two runs; None if their numbers differ."""
    pairs: list[tuple[float, float]] = []
    for rank, values in before.values.items():
        others = after.values.get(rank, {})
        if len(values) != len(others):
            return None
        pairs += zip(values.values(), others.values(), strict=True)
    return pairs


def _repeats_exactly(before: Metric, after: Metric) -> bool:
    pairs = _pairs(before, after)
    return pairs is not None and all(is_same(*pair, REPEATED) for pair in pairs)


def _differs_more_between_ranks(before: Metric, after: Metric) -> bool:
    pairs = _pairs(before, after)
    rows = [max(values) - min(values) for _, values in before.rows(set(before.values))]
    if not pairs or len(before.values) < 2 or not rows:
        return pairs is not None and all(is_same(*pair, BETWEEN_RUNS) for pair in pairs)
    return statistics.median(abs(a - b) for a, b in pairs) <= MOST_NOISE * statistics.median(rows)


def is_control(metric: Metric) -> bool:
    return metric.sink == TRAINER and metric.name in CONTROL
