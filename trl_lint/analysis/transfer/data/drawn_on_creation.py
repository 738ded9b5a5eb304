"""Data sets of a class that shuffles others: another object's draw says nothing of this one.

For example:

    class Rows(Dataset):
        def __init__(self, path, train): ...    if train: random.shuffle(self.rows)
    train = Rows("a", True)                     drawn
    val = Rows("b", False)                      not drawn, although its class has an attribute that is
    class Lines(Dataset):
        def shuffle(self): random.shuffle(self.rows)
    if __name__ == "__main__":
        lines = Lines("a"); lines.shuffle()     drawn: the only call
    class Data(LightningDataModule):
        def setup(self): Lines("a")             not drawn
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.construction import CONSTRUCTOR
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_once,
    callee_of,
    is_main_guard,
    last_name,
    of_class,
)
from trl_lint.analysis.state.event_trace import EventTrace, called_traces
from trl_lint.analysis.transfer.data.draws import Seeding, first_draw

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.values import Value


def is_of_others(frame: Frame, node: cst.CSTNode, dataset: Value) -> bool:
    """Whether the draw of a new data set is one that its constructor makes in other calls, and not in this one."""
    draw = first_draw(dataset.provenance)
    init = dataset.cls.find("__init__") if isinstance(dataset, ProjectInstance) else None
    if draw is None or init is None:
        return False
    if frame.function is not None and draw.function is not None and _is_called_on_another(frame, draw.function, draw):
        return True
    here = [summary.trace for edge, summary in frame.trace.calls.items() if edge[:2] == (id(node), id(init))]
    anywhere = [summary.trace for summary in init.summaries.values()]
    return bool(here) and id(draw.node) in _drawn_in(anywhere) - _drawn_in(here)


def _is_called_on_another(frame: Frame, method: FunctionInfo, draw: Step) -> bool:
    """Whether a method that draws is only called by the program in its own file, on an object that this one makes."""
    cls, tree = method.cls, method.module.tree
    if cls is None or method.name == CONSTRUCTOR:
        return False
    if {path for path, _ in frame.engine.project.linted_code(cls.name)} != {method.module.path}:
        return False
    drawing = callee_of(draw.node)
    uses = [each for each in of_class(tree, cst.Attribute) if each.attr.value == method.name and each is not drawing]
    return bool(uses) and all(_is_of_program(tree, each, cls.name) for each in uses)


def _is_of_program(tree: cst.Module, use: cst.Attribute, name: str) -> bool:
    """Whether an attribute is read under `if __name__ == "__main__":`, of a variable with a new object of a class."""
    made = assigned_once(tree, use.value.value) if isinstance(use.value, cst.Name) else None
    is_new = isinstance(made, cst.Call) and last_name(made.func) == name
    return is_new and any(isinstance(each, cst.If) and is_main_guard(each.test) for each in ancestors(tree, use))


def _drawn_in(traces: Iterable[EventTrace]) -> set[int]:
    """The ids of the calls that draw in some runs, and in what these call."""
    called = (each for trace in traces for each in called_traces(trace))
    return {id(draw.node) for trace in called for draw in trace.notes.of(Seeding).draws}
