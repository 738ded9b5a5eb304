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

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.events import DividedBy
from trl_lint.analysis.program.idioms.path_conditions import are_in_opposite_branches, branch_of, follows
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.analysis.state.observing import Branch
from trl_lint.domain.sync_points import UNSEEN, SyncPoint


def points_on_way_out(
    root: cst.CSTNode, branch: Branch, arms: tuple[Sequence[SyncPoint], Sequence[SyncPoint]]
) -> list[SyncPoint] | None:
    """The points that a rank passes on its way out, without those out of sight that do nothing; None if not known."""
    left = branch.continuing ^ 1
    is_plain = branch.by is DividedBy.CONDITION and branch.tried is None and all(branch.through)
    if not is_plain or len(branch.exits[left]) != 1 or branch.exits[left ^ 1] or arms[left ^ 1]:
        return None
    (leaving,) = branch.exits[left]
    around = _ifs_around(root, branch, leaving)
    if not around:
        return None
    passed = [each for each in arms[left] if not any(follows(root, one, each.node) for one in around)]
    passed = [each for each in passed if not are_in_opposite_branches(root, leaving, each.node)]
    return [each for each in passed if each.kind not in UNSEEN or _is_within(root, each.node, around[-1])]


def _ifs_around(root: cst.CSTNode, branch: Branch, leaving: cst.CSTNode) -> list[cst.If]:
    """The `if`s in a branch around the statement by which ranks leave it, outermost first; none if it has others."""
    outer, path = branch_of(root, branch.test), ancestors(root, leaving)
    if outer is None or outer not in path:
        return []
    around = [each for each in path[path.index(outer) + 1 :] if isinstance(each, cst.BaseCompoundStatement)]
    ifs = [each for each in around if isinstance(each, cst.If) and each is not outer.orelse]
    return ifs if len(ifs) == len(around) else []


def _is_within(root: cst.CSTNode, node: cst.CSTNode, around: cst.If) -> bool:
    """Whether a place is in one of the branches of an `if`, not in its test."""
    path = ancestors(root, node)
    return around in path and around.test is not node and around.test not in path
