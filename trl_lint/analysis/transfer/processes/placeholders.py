"""Lists that some ranks fill, while the others have only None in theirs, until something sends them the elements.

For example:

    if rank == 0:
        answers = [ask(each) for each in prompts]
        scores = [score(each) for each in answers]
    else:
        answers = [None] * len(prompts)
        scores = [None] * len(prompts)
    answers = broadcast_object_list(answers)
    answers[mine]                            every rank has its part
    scores[mine]                             the other ranks go on with None
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import branch_of
from trl_lint.analysis.program.syntax import ancestors, of_class, precedes
from trl_lint.domain.absence import Absence, Instead
from trl_lint.domain.kinds import ContainerValue, Identity
from trl_lint.domain.values import Kind, Value

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.heap import Cell, Memory


def filled_by_one_branch(before: Memory, mine: Memory, other: Memory) -> Iterator[str]:
    """The names of lists that a branch fills, and that have only None in them after the other one."""
    for name, theirs in other.names.items():
        value = mine.names.get(name)
        if value is None or before.names.get(name) is value or not _has_only_none(theirs, other.heap):
            continue
        if value.kind is not Kind.NONE and not _has_only_none(value, mine.heap):
            yield name


def _has_only_none(value: Value, heap: Mapping[Identity, Cell]) -> bool:
    cells = [heap[each] for each in value.identities if each in heap] if isinstance(value, ContainerValue) else []
    contents = [each for cell in cells for each in cell.values()]
    is_list = bool(cells) and all(cell.shape == "list" for cell in cells)
    return is_list and bool(contents) and all(each.kind is Kind.NONE for each in contents)


def note_read(frame: Frame, node: cst.Subscript, absence: Absence) -> None:
    """Note that elements of such a list are read by all ranks, if nothing may have sent them since the branch."""
    if absence.instead is not Instead.NONES or absence.owner is not (frame.function or frame.module):
        return
    around = ancestors(frame.root, node)
    is_compared = bool(around) and isinstance(around[-1], (cst.Comparison, cst.ComparisonTarget))
    if not isinstance(node.value, cst.Name) or is_compared:
        return
    if not _may_be_sent(frame.root, node.value, around, absence):
        for observe in frame.observers.lacked:
            observe(frame, node.value, absence)


def _may_be_sent(root: cst.CSTNode, read: cst.Name, around: Sequence[cst.CSTNode], absence: Absence) -> bool:
    """Whether a list is more than read between the branch and a place. around: the nodes around the place."""
    branch = branch_of(root, absence.condition.node)
    if branch is None:
        return True
    for each in of_class(root, cst.Name):
        if each.value == read.value and precedes(root, branch, each) and precedes(root, each, read):
            *_, parent, use = (None, *ancestors(root, each))
            if not isinstance(use, cst.Subscript) and not (parent in around and isinstance(use, cst.AssignTarget)):
                return True
    return False
