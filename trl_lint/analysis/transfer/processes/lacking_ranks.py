"""Where the ranks that lack a value fail because they use it, as do those that have it.

For example:

    log = open("x") if rank == 0 else None
    log.write("x")                         the others fail here: None has no such attribute
    table.to_csv("x.csv")                  only rank 0 gets here: `Control.others_failed`
    if rank == 0: log.flush()              nobody fails: only that rank reaches this
    if rank != 0: log.flush()              the others fail here: they alone reach it
    if log is not None: log.flush()        nor here
    if os.path.exists(start): log.flush()  the others fail here: they find the checkpoint, too
    try: model(batch)
    except RuntimeError as error:          memory may run out on any rank: the others fail here, too
        if "memory" in str(error): log.write("skipped")
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before, raises_again
from trl_lint.analysis.program.idioms.handled_errors import catches, is_caught
from trl_lint.analysis.program.idioms.path_conditions import (
    EXITS,
    Condition,
    branch_of,
    ifs_around,
    is_kept,
    parts_of,
)
from trl_lint.analysis.program.idioms.path_constraints import can_hold_together, constraints_on_path
from trl_lint.analysis.program.syntax import ancestors, below, inwards, names_in
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import counted_by_all, replaced_settings, wide_conditions
from trl_lint.domain import ranks
from trl_lint.domain.absence import Absence
from trl_lint.domain.control import Control
from trl_lint.domain.provenance import RankLocalFile, source_step
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.python import CATCH_LACK, OUT_OF_MEMORY


def fail_at(frame: Frame, node: cst.CSTNode, absence: Absence) -> bool:
    """Whether the ranks that lack a value certainly get to a use of it at a node, and fail."""
    conditions = frame.memory.control.conditions
    is_certain = all(
        _lets_all_ranks_in(frame, each, absence)
        or _is_left_by_owners(each, absence, node)
        or _is_of_any_error(frame, each, node)
        or _is_of_others(frame, each, absence, node)
        for each in conditions
    )
    if not is_certain or is_caught(frame.root, node, CATCH_LACK) or _is_tested(frame.root, node):
        return False
    return not _keeps_others_away(frame, node, absence) and not counted_by_all.have_it(frame, node)


def _keeps_others_away(frame: Frame, node: cst.CSTNode, absence: Absence) -> bool:
    """Whether the tests that lead to a place cannot have their outcomes on the ranks that lack a value.

    if not distributed or main: found = evaluate()
    if distributed: …
    else: print(found["loss"])                  all that get here have it
    """
    bound_if = absence.condition.node
    is_here = absence.owner is (frame.function or frame.module)
    if not is_here or not isinstance(bound_if, cst.BaseExpression):
        return False
    asked = names_in(bound_if)
    leading = [each for each in constraints_on_path(frame.root, node) if asked & names_in(each.test)]
    return bool(leading) and not can_hold_together(frame.root, [Condition(bound_if, not absence.holds), *leading])


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
    if wide_conditions.is_tried(condition) or replaced_settings.asks_settings(frame, condition):
        return True
    return wide_conditions.is_of_rank_local_data(condition) or _is_of_shared_file(frame, condition)


def _is_of_shared_file(frame: Frame, condition: Control) -> bool:
    """Whether a condition asks for files that all ranks look for and none writes, such as a checkpoint to start from.

    What is missing (`if not found:`) the first rank may make before the others ask.
    """
    place, source = place_of(condition), source_step(condition.provenance)
    if condition.rank.origins != Origin.IO or source is None or isinstance(source, RankLocalFile):
        return False
    around = ancestors(frame.root, source.node)
    tests = [each.test for each in around if isinstance(each, (cst.If, cst.IfExp, cst.While))]
    is_of_rank = any(Origin.RANK in frame.value_of(each).rank.origins for each in (*tests, *below(source.node)))
    return bool(around) and not is_of_rank and not isinstance(place, cst.UnaryOperation)


def _is_asked_with_rank(condition: Control, absence: Absence) -> bool:
    """Whether the value is bound under the same condition and one on the rank: then it holds on other ranks, too."""
    test, bound_if = place_of(condition), absence.condition.node
    if test is None or not absence.holds or not isinstance(bound_if, cst.BooleanOperation):
        return False
    tested = [test.left, test.right] if isinstance(test, cst.BooleanOperation) else [test]
    return any(each.deep_equals(part) for part in parts_of(bound_if) for each in tested)


def _is_of_any_error(frame: Frame, condition: Control, node: cst.CSTNode) -> bool:
    """Whether a condition asks which error was raised where memory has run out, which may happen on any rank.

    Unless only some ranks may come to a part of what is tried: `try: if rank == 0: show(batch)`.
    """
    tried, handler = _handled(frame.root, node)
    place = place_of(condition)
    if tried is None or handler is None or not catches(handler, OUT_OF_MEMORY) or raises_again(handler):
        return False
    asks_error = place is not None and names_in(place) <= _asking(handler)
    if place is not tried and not (asks_error and any(each is place for each in below(handler.body))):
        return False
    tests = (each.test for each in below(tried.body) if isinstance(each, (cst.If, cst.IfExp, cst.While)))
    known = (frame.known_value(each) for each in tests)
    return all(each is not None and (_is_of_all(each.rank) or each.rank == ranks.SETTING) for each in known)


def _is_of_all(rank: Rank) -> bool:
    return rank.state is not State.UNKNOWN and Origin.RANK not in rank.origins


def _handled(root: cst.CSTNode, node: cst.CSTNode) -> tuple[cst.Try | None, cst.ExceptHandler | None]:
    """The innermost `except` clause around a node, with its `try`."""
    around = [(a, b) for a, b in inwards(root, node) if isinstance(a, cst.Try) and isinstance(b, cst.ExceptHandler)]
    return around[-1] if around else (None, None)


def _asking(handler: cst.ExceptHandler) -> frozenset[str]:
    """The names in a test of which error a handler has caught."""
    caught = handler.name.name if handler.name is not None else None
    return _ASK_ERROR | ({caught.value} if isinstance(caught, cst.Name) else frozenset())


_ASK_ERROR = frozenset({"any", "args", "isinstance", "lower", "repr", "str", "type"})


def _is_left_by_owners(condition: Control, absence: Absence, node: cst.CSTNode) -> bool:
    """Whether a condition keeps only ranks away that have the value: they leave in the branch that binds it."""
    test = place_of(condition)
    root = condition.provenance.module.tree
    branch = branch_of(root, test) if test is not None and test is absence.condition.node else None
    if branch is None or any(each is branch for each in ancestors(root, node)):
        return False
    others = branch.orelse if absence.holds else branch.body
    return others is None or not any(isinstance(each, EXITS) for each in below(others))


def _is_of_others(frame: Frame, condition: Control, absence: Absence, node: cst.CSTNode) -> bool:
    """Whether a condition lets in the ranks that lack a value, and no others: it asks what decides which ranks have it.

    Only within one function in which the names of both tests are the same from the first of them on.
    """
    test, bound_if = place_of(condition), absence.condition.node
    is_here = absence.owner is (frame.function or frame.module)
    if test is None or not isinstance(bound_if, cst.BaseExpression) or not is_here:
        return False
    holds = _outcome_at(frame.root, test, node)
    if holds is None or _plain_outcome(test, holds) != _plain_outcome(bound_if, not absence.holds):
        return False
    names = (each for one in (test, bound_if) for each in below(one) if isinstance(each, cst.Name))
    return all(is_kept(frame.root, each, bound_if) for each in names)


def _outcome_at(root: cst.CSTNode, test: cst.CSTNode, node: cst.CSTNode) -> bool | None:
    """The outcome of a test that leads to a place; None if no branch around it or exit before it has it."""
    around = next((holds for branch, holds in ifs_around(root, node) if branch.test is test), None)
    is_left = around is None and any(each.test is test for each in exits_before(root, node))
    return False if is_left else around


def _plain_outcome(test: cst.CSTNode, holds: bool) -> tuple[str, bool]:
    """The text and the outcome of the test that a test asks in other words: `not main`, `rank != 0`."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=denied):
            return _plain_outcome(denied, not holds)
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.NotEqual())]):
            equal = test.comparisons[0].with_changes(operator=cst.Equal())
            return _plain_outcome(test.with_changes(comparisons=[equal]), not holds)
    plain = test.with_changes(lpar=(), rpar=()) if isinstance(test, cst.BaseExpression) else test
    return cst.Module([]).code_for_node(plain), holds


def _is_tested(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a test around a node mentions the value that is used there, in whatever form: `if usable(writer):`."""
    kind = type(node)
    return any(
        type(part) is kind and part.deep_equals(node)
        for outer, inner in inwards(root, node)
        if isinstance(outer, (cst.If, cst.IfExp, cst.While)) and outer.test is not inner
        for part in below(outer.test)
    )
