"""Calls that may put the rows of a data set into another order: the same indices then mean other rows.

For example:

    loader.dataset.mix()            whatever it does, if the loader may have this sampler
    rows.mix()                      a data set of the project, if the method draws: `random.shuffle(self.files)`
    size = loader.dataset.count()   a question
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state.event_trace import called_traces
from trl_lint.analysis.transfer.data.draws import Seeding
from trl_lint.domain.kinds import LoaderValue
from trl_lint.knowledge.torch_distributed import ROWS_OF_LOADER

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.loader_samplers import ShufflingSampler


def may_mix(frame: Frame, code: cst.CSTNode, sampler: ShufflingSampler) -> bool:
    """Whether a statement of some code calls what may put the rows that a sampler draws into another order."""
    return any(_may_mix(frame, each.value, sampler) for each in of_class(code, cst.Expr))


def _may_mix(frame: Frame, statement: cst.BaseExpression, sampler: ShufflingSampler) -> bool:
    match statement:
        case cst.Call(cst.Attribute(cst.Attribute(loader, cst.Name(attribute)))) if attribute == ROWS_OF_LOADER[1]:
            known = frame.known_value(loader)  # None in a nested function
            return known.sampler == sampler if isinstance(known, LoaderValue) else known is not None
        case cst.Call(cst.Attribute(rows)) as call:
            known = frame.value_of(rows)
            return isinstance(known, ProjectInstance) and bool(known.cls.find("__getitem__")) and _draws(frame, call)
    return False


def _draws(frame: Frame, call: cst.Call) -> bool:
    traces = (summary.trace for edge, summary in frame.trace.calls.items() if edge[0] == id(call))
    return any(each.notes.of(Seeding).draws for trace in traces for each in called_traces(trace))
