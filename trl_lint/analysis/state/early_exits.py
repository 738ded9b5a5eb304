"""What a rank passes on its way out of a branch, if others that take the branch stay.

    if rank == 0:
        data = load_and_sync()    out of sight: it may be a collective
        if not data:
            continue              rank 0 leaves, after `load_and_sync`
    dist.broadcast(data)          or it stays, and comes here as all others do

The other ranks pass nothing while rank 0 is in the branch. So nobody waits in `load_and_sync`: or those that stay would
be one collective ahead. The ways out of a branch lack what comes after it, whatever is out of sight on the way to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.blocks import ends_outside
from trl_lint.analysis.program.idioms.path_conditions import are_in_opposite_branches, branch_of, comes_after
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.analysis.state.observing import Branch, End, Exit
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.sync_points import UNSEEN, SyncPoint


class WayOut(NamedTuple):
    """A statement by which ranks leave a branch, and the points that they pass before that and at which others wait."""

    leaving: Exit | End
    points: list[SyncPoint]


def word_of(leaving: Exit | End | None) -> str:
    """What ranks do at a statement by which they leave: `return`, or `exit` where it ends their process."""
    is_end = isinstance(leaving, (cst.Expr, cst.Raise))
    return "" if leaving is None else "exit" if is_end else type(leaving).__name__.lower()


def ways_out(
    root: cst.CSTNode, branch: Branch, arms: tuple[Sequence[SyncPoint], Sequence[SyncPoint]]
) -> Iterator[WayOut]:
    """The ways out of the branch that some ranks take, if those that stay in it meet the other ranks behind it."""
    left, outer = branch.continuing ^ 1, branch_of(root, branch.test)
    is_plain = branch.by is DividedBy.CONDITION and branch.tried is None and all(branch.through)
    if outer is None or not is_plain or branch.exits[left ^ 1] or arms[left ^ 1]:
        return
    for leaving in branch.exits[left]:
        around = _ifs_around(root, outer, leaving)
        if around:
            yield WayOut(leaving, list(_passed(root, outer, leaving, around, arms[left])))


def _passed(
    root: cst.CSTNode, outer: cst.If, leaving: Exit | End, around: Sequence[cst.If], points: Sequence[SyncPoint]
) -> Iterator[SyncPoint]:
    """The points on the way to an exit, without those out of sight that other ranks pass, too, and then stay."""
    for point in points:
        if any(comes_after(root, one, point.node) for one in around) or are_in_opposite_branches(
            root, leaving, point.node
        ):
            continue
        is_before = not _is_within(root, point.node, around[-1]) and not _is_left_behind(root, outer, point.node)
        if point.kind not in UNSEEN or not is_before:
            yield point


def _ifs_around(root: cst.CSTNode, outer: cst.If, leaving: cst.CSTNode) -> list[cst.If]:
    """The `if`s in a branch around the statement by which ranks leave it, outermost first; none if it has others."""
    path = ancestors(root, leaving)
    if outer not in path:
        return []
    around = [each for each in path[path.index(outer) + 1 :] if isinstance(each, cst.BaseCompoundStatement)]
    ifs = [each for each in around if isinstance(each, cst.If) and each is not outer.orelse]
    return ifs if len(ifs) == len(around) else []


def _is_within(root: cst.CSTNode, node: cst.CSTNode, around: cst.If) -> bool:
    """Whether a place is in one of the branches of an `if`, not in its test."""
    path = ancestors(root, node)
    return around in path and around.test is not node and around.test not in path


def _is_left_behind(root: cst.CSTNode, outer: cst.If, node: cst.CSTNode) -> bool:
    """Whether all ranks at a place leave: a block around it in a branch always ends outside."""
    path = ancestors(root, node)
    inside = path[path.index(outer) + 1 :] if outer in path else ()
    return any(isinstance(each, cst.IndentedBlock) and _always_leaves(each) for each in inside)


def _always_leaves(block: cst.BaseSuite) -> bool:
    if ends_outside(block):
        return True
    last: cst.CSTNode | None = block.body[-1] if isinstance(block, cst.IndentedBlock) and block.body else None
    while isinstance(last, cst.If) and _always_leaves(last.body):
        last = last.orelse
    return isinstance(last, cst.Else) and _always_leaves(last.body)
