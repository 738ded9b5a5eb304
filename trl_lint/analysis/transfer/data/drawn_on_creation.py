"""Data sets that a constructor shuffles for some of its calls: another object's draw says nothing of this one.

For example:

    class Rows(Dataset):
        def __init__(self, path, train): ...    if train: random.shuffle(self.rows)
    train = Rows("a", True)                     drawn
    val = Rows("b", False)                      not drawn, although its class has an attribute that is
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state.event_trace import EventTrace, called_traces
from trl_lint.analysis.transfer.data.draws import Seeding, first_draw

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def is_of_others(frame: Frame, node: cst.CSTNode, dataset: Value) -> bool:
    """Whether the draw of a new data set is one that its constructor makes in other calls, and not in this one."""
    draw = first_draw(dataset.provenance)
    init = dataset.cls.find("__init__") if isinstance(dataset, ProjectInstance) else None
    if draw is None or init is None:
        return False
    here = [summary.trace for edge, summary in frame.trace.calls.items() if edge[:2] == (id(node), id(init))]
    anywhere = [summary.trace for summary in init.summaries.values()]
    return bool(here) and id(draw.node) in _drawn_in(anywhere) - _drawn_in(here)


def _drawn_in(traces: Iterable[EventTrace]) -> set[int]:
    """The ids of the calls that draw in some runs, and in what these call."""
    called = (each for trace in traces for each in called_traces(trace))
    return {id(draw.node) for trace in called for draw in trace.notes.of(Seeding).draws}
