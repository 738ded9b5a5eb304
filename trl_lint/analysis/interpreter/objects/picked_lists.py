"""A list that a rank picks by its number from a list of lists: its elements are this rank's own.

    chunks = [rows[i : i + each] for i in range(0, len(rows), each)]
    own = chunks[rank]                  other rows on each rank
    for row in own: save(row)

Only of lists that are read where they are picked: what `buckets[rank].append(row)` adds is in `buckets`, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, of_class
from trl_lint.domain.heap import Cell
from trl_lint.domain.joins import with_element
from trl_lint.domain.ranks import join_lengths
from trl_lint.domain.values import BOTTOM, Value
from trl_lint.knowledge.python import ADD_TO_CONTAINERS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def own(frame: Frame, node: cst.CSTNode, picked: Value, choose: Callable[[Value], Value]) -> Value:
    """The list of `lists[rank]`, with elements that differ as the place does; anything else as it is.

    choose: what an element is that is chosen by this index.
    """
    cells = [each for each in frame.memory.cells(picked) if not each.is_empty]
    if not cells or any(each.shape != "list" for each in cells) or not _is_only_read(frame.root, node):
        return picked
    element: Value = BOTTOM
    length = cells[0].length
    for cell in cells:
        element = with_element(element, cell.element())
        length = join_lengths(length, cell.length)
    return frame.allocate((node, "own"), Cell("list", rest=choose(element), length=length))


def _is_only_read(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether nothing is added to a list through this expression for it, or through the name that it is given."""
    around = ancestors(root, node)
    if not around or isinstance(around[-1], (cst.Attribute, cst.Subscript, cst.AssignTarget, cst.AugAssign)):
        return False
    match around[-1]:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]):
            calls = (each.func for each in of_class(root, cst.Call) if isinstance(each.func, cst.Attribute))
            added = (each for each in calls if each.attr.value in ADD_TO_CONTAINERS)
            return not any(isinstance(each.value, cst.Name) and each.value.value == name for each in added)
    return True
