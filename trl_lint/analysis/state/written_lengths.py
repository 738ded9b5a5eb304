"""How many elements a list has that the code writes out, for tests that ask for it.

For example:

    devices = [0]                       1
    def init_net(net, gpu_ids=[]):      0 where a call leaves it out, and `init_net` adds nothing to it
    def log(loss, seen=[]):             not known: all calls share the list, and `seen.append(loss)` fills it
    found = []                          not known: what is written empty is filled elsewhere

What a class keeps is not known either: `self.gpu_ids = gpu_ids`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import of_class
from trl_lint.domain.constants import LEFT_OUT, MISSING
from trl_lint.domain.heap import Cell
from trl_lint.knowledge.python import ADD_TO_CONTAINERS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo, Parameter
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def left_out(frame: Frame, function: FunctionInfo, parameter: Parameter) -> Value | None:
    """The empty list that a parameter has by default, where a call leaves it out; None for other defaults."""
    if not isinstance(parameter.default, cst.List) or parameter.default.elements or _is_filled(function, parameter):
        return None
    return frame.allocate(parameter.node, Cell("list")).replace(const=LEFT_OUT)


def _is_filled(function: FunctionInfo, parameter: Parameter) -> bool:
    """Whether a function adds to the list of a parameter, which is there in its next call."""
    calls = (each.func for each in of_class(function.node, cst.Call))
    methods = (each for each in calls if isinstance(each, cst.Attribute) and each.attr.value in ADD_TO_CONTAINERS)
    added = (each.target for each in of_class(function.node, cst.AugAssign))
    filled = (*(each.value for each in methods), *added)
    return any(isinstance(each, cst.Name) and each.value == parameter.name for each in filled)


def is_left_out(frame: Frame, value: Value) -> bool:
    """Whether a value is the empty list of a parameter that a call leaves out, and nothing has been added to it."""
    return value.const is LEFT_OUT and written_length(frame, value) == 0


def written_length(frame: Frame, value: Value) -> int | None:
    """The number of elements of a list of which each is written out; None if it is not known."""
    cells = frame.memory.cells(value)
    is_known = len(cells) == 1 and cells[0].shape == "list" and cells[0].rest is None
    return len(cells[0].entries) if is_known else None


def given_length(frame: Frame, value: Value) -> int | None:
    """That number, where a test may rely on it: a list that is written empty is filled elsewhere."""
    length = written_length(frame, value)
    return length if length or is_left_out(frame, value) else None


def as_kept(value: Value) -> Value:
    """A value that a class keeps: other methods may add to it."""
    return value.replace(const=MISSING) if value.const is LEFT_OUT else value
