"""What a metric, or a running mean, holds of the samples that it was fed.

meter.update(loss.item(), 8)      loss.item(): partial(mean)
meter.avg                         local(data)
"""

from __future__ import annotations

from functools import reduce

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.kinds import MetricObject
from trl_lint.domain.ranks import METRIC, Rank, State
from trl_lint.domain.values import UNKNOWN, Value


def result(frame: Frame, metric: MetricObject) -> Value:
    """The result of a running mean so far."""
    found = fed(frame, metric)
    return reduce(merged, found) if found else UNKNOWN


def fed(frame: Frame, metric: MetricObject) -> list[Value]:
    return [cell.rest for cell in frame.memory.cells(metric) if cell.rest is not None]


def merged(one: Value, other: Value) -> Value:
    """A metric over two sets of samples."""
    main = one if one.rank.differs or not other.rank.differs else other
    return main.replace(rank=one.rank if one.rank == other.rank else _combined(one.rank, other.rank))


def _combined(one: Rank, other: Rank) -> Rank:
    rank = ranks.combine(one, other)
    return rank._replace(how=METRIC) if rank.state is State.LOCAL else rank
