"""Where the ranks that lack a value fail because they use it, as do those that have it.

For example:

    log = open("x") if rank == 0 else None
    log.write("x")                         the others fail here: None has no such attribute
    table.to_csv("x.csv")                  only rank 0 gets here: `Control.others_failed`
    if rank == 0: log.flush()              nobody fails: only that rank reaches this
    if log is not None: log.flush()        nor here
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.handled_errors import is_caught
from trl_lint.analysis.program.idioms.path_conditions import EXITS, branch_of, parts_of
from trl_lint.analysis.program.syntax import ancestors, below, inwards
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import wide_conditions
from trl_lint.domain import ranks
from trl_lint.domain.absence import Absence
from trl_lint.domain.control import Control
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.python import CATCH_LACK


def fail_at(frame: Frame, node: cst.CSTNode, absence: Absence) -> bool:
    """Whether the ranks that lack a value certainly get to a use of it at a node, and fail."""
    conditions = frame.memory.control.conditions
    is_certain = all(
        _lets_all_ranks_in(frame, each, absence) or _is_left_by_owners(each, absence, node) for each in conditions
    )
    return is_certain and not (is_caught(frame.root, node, CATCH_LACK) or _is_tested(frame.root, node))


def _lets_all_ranks_in(frame: Frame, condition: Control, absence: Absence) -> bool:
    """Whether the ranks that lack a value pass a condition just as those that have it."""
    if Origin.RANK in condition.rank.origins:
        return False
    if id(place_of(condition)) in absence.around or condition.rank == ranks.SETTING:
        return True
    if _is_asked_with_rank(condition, absence):
        return True
    if wide_conditions.is_no_guard(condition) or wide_conditions.depends_on_progress(frame, condition):
        return True
    return wide_conditions.is_of_rank_local_data(condition)


def _is_asked_with_rank(condition: Control, absence: Absence) -> bool:
    """Whether the value is bound under the same condition and one on the rank: then it holds on other ranks, too."""
    test, bound_if = place_of(condition), absence.condition.node
    if test is None or not absence.holds or not isinstance(bound_if, cst.BooleanOperation):
        return False
    tested = [test.left, test.right] if isinstance(test, cst.BooleanOperation) else [test]
    return any(each.deep_equals(part) for part in parts_of(bound_if) for each in tested)


def _is_left_by_owners(condition: Control, absence: Absence, node: cst.CSTNode) -> bool:
    """Whether a condition keeps only ranks away that have the value: they leave in the branch that binds it."""
    test = place_of(condition)
    root = condition.provenance.module.tree
    branch = branch_of(root, test) if test is not None and test is absence.condition.node else None
    if branch is None or any(each is branch for each in ancestors(root, node)):
        return False
    others = branch.orelse if absence.holds else branch.body
    return others is None or not any(isinstance(each, EXITS) for each in below(others))


def _is_tested(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a test around a node mentions the value that is used there, in whatever form: `if usable(writer):`."""
    kind = type(node)
    return any(
        type(part) is kind and part.deep_equals(node)
        for outer, inner in inwards(root, node)
        if isinstance(outer, (cst.If, cst.IfExp, cst.While)) and outer.test is not inner
        for part in below(outer.test)
    )
