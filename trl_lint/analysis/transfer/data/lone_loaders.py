"""Loaders that a Trainer makes while its arguments say that no launcher has started this process: of all rows.

For example, in releases that ask for the number of the process:

    self.args.local_rank = -1
    loader = self.get_eval_dataloader(rows)                  all rows, on each rank
    self.args.local_rank = torch.distributed.get_rank()
    loader = self.get_eval_dataloader(rows)                  this rank's share

Nothing is known of the batches of such a loader: the data set may deal the rows by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.syntax import inwards, of_class, self_attribute
from trl_lint.domain import ranks
from trl_lint.domain.kinds import BatchValue, LoaderValue
from trl_lint.domain.values import Value
from trl_lint.knowledge import library
from trl_lint.knowledge import sharding as table
from trl_lint.knowledge.transformers import SETTINGS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def of_trainer(frame: Frame, receiver: Value, name: str, node: cst.CSTNode, value: Value) -> Value:
    """The result of a Trainer's method that makes a loader, where it was told just before that it is alone."""
    if name not in table.ASKS_FOR_LAUNCHER or not isinstance(value, LoaderValue):
        return value
    is_own = isinstance(receiver, ProjectInstance) and receiver.cls.find(name) is None
    if not is_own or not library.holding((table.ASKS_FOR_LAUNCHER[name],), frame.engine.versions):
        return value
    return value.with_parts(BatchValue(ranks.UNKNOWN), None) if _is_told_so(frame.root, node) else value


def _is_told_so(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the last statement before a call that sets the number of this process, on every way to it, clears it."""
    for outer, inner in reversed(list(inwards(root, node))):
        if not isinstance(outer, cst.IndentedBlock):
            continue
        start = next(index for index, each in enumerate(outer.body) if each is inner)
        for statement in reversed(outer.body[:start]):
            given = [each for each in of_class(statement, cst.Assign) if any(map(_is_number, each.targets))]
            if given:
                is_certain = isinstance(statement, cst.SimpleStatementLine)
                return is_certain and all(each.value.deep_equals(_NO_LAUNCHER) for each in given)
    return False


def _is_number(target: cst.AssignTarget) -> bool:
    """`self.args.local_rank = …`."""
    place = target.target
    return (
        isinstance(place, cst.Attribute)
        and place.attr.value == table.NUMBER_BY_LAUNCHER
        and self_attribute(place.value) == SETTINGS
    )


_NO_LAUNCHER = cst.UnaryOperation(cst.Minus(), cst.Integer("1"))
