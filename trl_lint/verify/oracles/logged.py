"""The metrics of a run, by log sink and name, as each rank handed them over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from trl_lint.verify.traces import Place, Run

# Values of the clock and the machine differ between ranks, and from run to run, in right code.
CLOCK = re.compile(
    r"(^|[/_ ])((run|wall)?time|timing|timestamp|wall_?clock|elapsed|duration|latency|[mun]?s|secs?|seconds?"
    r"|throughput|speed|flops?|memory|mem|allocated|reserved|mfu|tps)($|[/_ :])"
    r"|per_sec(ond)?|/s(ec)?$",
    re.IGNORECASE,
)
# A value that says whose it is: each rank's own, logged on purpose.
OF_ONE_RANK = re.compile(r"(rank|gpu|device|process|worker)[_\-/ ]?\d", re.IGNORECASE)
# What Trainer itself logs is the same on all ranks already: the control of each run.
CONTROL = ("loss", "grad_norm", "learning_rate")
TRAINER = "Trainer.log"


@dataclass(slots=True)
class Metric:
    """One metric: by rank, the values that were handed over, by how many of it came before.

    Calls of the sink with other metrics don't count: one rank may log more of those than the others.
    """

    sink: str
    name: str
    values: dict[int, dict[int, float]] = field(default_factory=dict)
    at: tuple[Place, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return (self.sink, self.name)

    def rows(self, ranks: Mapping[int, object] | set[int]) -> Iterator[tuple[int, list[float]]]:
        """Log by log, the values of these ranks, where all of them have one."""
        each = [self.values.get(rank, {}) for rank in sorted(ranks)]
        for call in sorted(set.intersection(*map(set, each))) if each else ():
            yield call, [values[call] for values in each]


def metrics_of(run: Run) -> dict[tuple[str, str], Metric]:
    """All metrics of a run but those of the clock, and those that name one rank as theirs."""
    found: dict[tuple[str, str], Metric] = {}
    for rank in run.ranks:
        for log in rank.logs:
            for name, value in log.values.items():
                if not (CLOCK.search(name) or OF_ONE_RANK.search(name)):
                    metric = found.setdefault((log.sink, name), Metric(log.sink, name, at=log.at))
                    values = metric.values.setdefault(rank.number, {})
                    values[len(values)] = value
    return found


def is_control(metric: Metric) -> bool:
    return metric.sink == TRAINER and metric.name in CONTROL
