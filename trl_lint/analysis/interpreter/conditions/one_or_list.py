"""One value or a list: where one branch makes a list, what was given otherwise is a list, too.

    if not isinstance(folders, list):
        folders = [folders]
    if splits is None:
        splits = ["train", "test"]
    for folder in folders:                the same on all ranks, as `folders` was

    names = batch["name"]
    if names is None:
        names = ["first", "second"]
    print(names[0])                       not known, as `names` was, or this rank's own

Only of lists whose elements are the same on all ranks. `containers.uniform_if_plain` is for choices in an expression.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from trl_lint.analysis.state import containers
from trl_lint.domain.heap import Cell
from trl_lint.domain.joins import join
from trl_lint.domain.values import Kind, Value

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.heap import Memory


_GIVEN = frozenset({Kind.BATCH, Kind.UNKNOWN})


def divided(frame: Frame, place: Hashable, taken: Memory, skipped: Memory, names: Iterable[str]) -> dict[str, Value]:
    """The names bound to a list on one branch, and on the other to part of a batch or what has only a known rank."""
    found: dict[str, Value] = {}
    for name in names:
        for memory, other in ((taken, skipped), (skipped, taken)):
            made, given = memory.cells(memory.names[name]), other.names[name]
            if given.kind not in _GIVEN or len(made) != 1 or not _is_plain_list(made[0]):
                continue
            if given.kind is Kind.BATCH and not given.rank.is_uniform:
                found[name] = given  # nothing of it is in the list
            elif given.kind is Kind.UNKNOWN and given.rank.is_uniform:
                cell = Cell("list", rest=join(Value(given.rank), made[0].element()), length=given.rank)
                found[name] = frame.allocate((place, name), cell)
    return found


def _is_plain_list(cell: Cell) -> bool:
    is_plain = cell.shape == "list" and not cell.is_empty and containers.is_flat(cell)
    return is_plain and all(each.rank.is_uniform for each in cell.values())
