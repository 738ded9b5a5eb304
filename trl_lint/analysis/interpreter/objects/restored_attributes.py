"""What an object gets back of its own state, in a run that goes on with an earlier one: it is of the same kind.

For example, where `position` is known to be each rank's own, and the main process alone adds to `rows`:

    self.position = state["position"]       which `state_dict` has put there: each rank's own
    self.rows = pickle.load(file)           which `save` has written: the list to which the main process adds
    self.length = state["length"]           unknown, if it is the same on all ranks otherwise
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.restored_state import is_filled, is_restored
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.ranks import State
from trl_lint.domain.values import UNKNOWN, Value


def as_saved(frame: Frame, cls: ClassInfo, target: cst.Attribute, value: Value) -> Value:
    """What an attribute of `self` is once a value is assigned to it, which may be what the object has saved of it."""
    name, method = self_attribute(target), frame.function
    if value.rank.state is not State.UNKNOWN or not name or method is None:
        return value
    if not is_restored(frame.engine.project, cls, method, name):
        return value
    before = frame.read_attribute(cls, name)
    if isinstance(before, ContainerValue):
        if not is_filled(cls, name):
            return value
        frame.update(before, _with_elements)
        return before
    return before if before is not None and before.rank.differs else value


def _with_elements(cell: Cell) -> Cell:
    """A container with what the object had in an earlier run."""
    return Cell(cell.shape, rest=UNKNOWN, length=ranks.RESTORED) if cell.is_empty else cell
