"""The metrics of a run, by log sink and name, as each rank handed them over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from trl_lint.verify.traces import Place, Run

# Values of the clock and the machine differ between ranks, and from run to run, in right code.
CLOCK = re.compile(
    r"(^|[/_ ])(runtime|time|seconds?|per_second|duration|latency|throughput|speed|flops?|memory|mem|mfu|tps)($|[/_ :])"
)
# What Trainer itself logs is the same on all ranks already: the control of each run.
CONTROL = ("loss", "grad_norm", "learning_rate")
TRAINER = "Trainer.log"


@dataclass(slots=True)
class Metric:
    """One metric: by rank, the number of the sink's call and the value that was handed over in it."""

    sink: str
    name: str
    values: dict[int, dict[int, float]] = field(default_factory=dict)
    at: tuple[Place, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return (self.sink, self.name)

    def rows(self, ranks: Mapping[int, object] | set[int]) -> Iterator[tuple[int, list[float]]]:
        """Call by call, the values of these ranks, where all of them have one."""
        each = [self.values.get(rank, {}) for rank in sorted(ranks)]
        for call in sorted(set.intersection(*map(set, each))) if each else ():
            yield call, [values[call] for values in each]


def metrics_of(run: Run) -> dict[tuple[str, str], Metric]:
    """All metrics of a run but those of the clock."""
    found: dict[tuple[str, str], Metric] = {}
    for rank in run.ranks:
        calls: dict[str, int] = {}
        for log in rank.logs:
            call = calls[log.sink] = calls.get(log.sink, -1) + 1
            for name, value in log.values.items():
                if not CLOCK.search(name):
                    metric = found.setdefault((log.sink, name), Metric(log.sink, name, at=log.at))
                    metric.values.setdefault(rank.number, {})[call] = value
    return found


def is_control(metric: Metric) -> bool:
    return metric.sink == TRAINER and metric.name in CONTROL
