"""Parts of a condition that tell one rank from all others.

Whatever the other parts are, some rank gets false:

    ready and rank == 0          all but rank 0
    rank and policy              rank 0, whose number is false
    not rank and policy          all but rank 0
    writer is not None and due   all but rank 0, if it is the one that makes the writer
    is_main and due              all but rank 0, for is_main = rank == 0 if distributed, and True otherwise
    rank in members and ready    nothing is known: all may be members
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import on_single_process
from trl_lint.analysis.program.blocks import leaves_at_once
from trl_lint.analysis.program.idioms.path_conditions import alternatives
from trl_lint.analysis.program.syntax import (
    assigned_parts,
    attribute_values,
    callee_of,
    last_name,
    resolved,
    self_attribute,
)
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import ONE_PROCESS_TRUE
from trl_lint.domain.derived import derived
from trl_lint.domain.devices import GLOBAL_RANK
from trl_lint.domain.provenance import LauncherVariable, steps
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import MAIN_PROCESS, RANK_FIELD, RANK_NUMBER

# What the names have of tests that one rank of each machine passes.
_OF_MACHINE = "local"


def selects_one_rank(frame: Frame, node: cst.BaseExpression, value: Value) -> bool:
    """Whether a condition, or a part of it that must be true, distinguishes one rank from the others."""
    if on_single_process(value) is not None:
        return True
    if value.rank.is_by_rank and _is_of_one_rank(frame, _written_out(frame, node), value):
        return True
    if value.rank == ranks.RANK_LOCAL and value.kind is Kind.NUMBER and _is_truth_of_rank(frame, node, value):
        return True
    if value.rank.is_by_rank and _asks_for_presence(node) and _is_of_one_that_has_it(frame, value):
        return True
    if not isinstance(node, cst.BooleanOperation) or not isinstance(node.operator, cst.And):
        return False
    sides = ((side, frame.known_value(side)) for side in (node.left, node.right))
    return any(known is not None and selects_one_rank(frame, side, known) for side, known in sides)


def as_left_by_some(frame: Frame, node: cst.If, value: Value) -> Value:
    """The test of an `if` that only leaves, where a part of it sends some ranks away, whatever the other parts are.

    if rank != 0 or skips(step): return       only rank 0 goes on, if any rank does
    if rank != 0 or skips(step): barrier()    unknown: where `skips` is true, all ranks wait
    """
    if value.rank != ranks.GUARDED or node.orelse is not None or not leaves_at_once(node.body):
        return value
    for part in alternatives(node.test):
        known = None if isinstance(part, cst.BooleanOperation) else frame.known_value(part)
        if known is not None and selects_one_rank(frame, part, known):
            return derived(known.rank, Kind.NUMBER, known, dtype="bool")
    return value


def branch_of_one_rank(frame: Frame, test: cst.BaseExpression) -> int | None:
    """The branch of a condition that one rank of the whole job takes at most; None if several ranks may take both.

    if rank == 0 and due: ...                 the first one
    if rank != 0: return                      the second one, which goes on
    if local_rank == 0: ...                   None: one rank of each node
    """
    match test:
        case cst.BooleanOperation(left, cst.And(), right):
            return 0 if 0 in (branch_of_one_rank(frame, left), branch_of_one_rank(frame, right)) else None
        case cst.UnaryOperation(cst.Not(), negated):
            branch = branch_of_one_rank(frame, negated)
            return None if branch is None else 1 - branch
    value = frame.known_value(test)
    if value is None or not value.rank.is_by_rank:
        return None
    match _written_out(frame, test):
        case cst.Comparison(left, [cst.ComparisonTarget(cst.Equal() | cst.NotEqual() as operator, cst.Integer())]):
            known = frame.known_value(left)
            is_of_all = known is not None and known.device == GLOBAL_RANK
            return int(isinstance(operator, cst.NotEqual)) if is_of_all else None
    name = last_name(callee_of(test) or test)
    is_main = MAIN_PROCESS.fits(name) and _OF_MACHINE not in name and on_single_process(value) is ONE_PROCESS_TRUE
    return 0 if is_main else None


def _written_out(frame: Frame, node: cst.BaseExpression) -> cst.BaseExpression:
    """The test that a name stands for, or an attribute: `IS_MAIN = RANK == 0`, `self.main = self.rank == 0`.

    A name is one of the function or its module, and an attribute one that the class of the object sets, or the module
    (`args.first = args.rank == 0`). Where it is True otherwise (`else: IS_MAIN = True`), there is one process.
    """
    for values in _assigned_values(frame, node):
        others = values if len(values) == 1 else [each for each in values if last_name(each) != "True"]
        if len(others) == 1:
            is_kept = isinstance(node, cst.Name) and self_attribute(others[0])  # `main = self.main`
            return _written_out(frame, others[0]) if is_kept else others[0]
    return node


def _assigned_values(frame: Frame, node: cst.BaseExpression) -> Iterator[list[cst.BaseExpression]]:
    """All that is assigned to a name or an attribute, in each piece of code that may assign to it."""
    if attribute := self_attribute(node):
        lineage = frame.cls.project_lineage() if frame.cls is not None else ()
        yield [value for cls in lineage for name, value in attribute_values(cls.node) if name == attribute]
    elif isinstance(node, cst.Name):
        for root in (frame.root, frame.module.tree):
            found = resolved(root, node)
            yield (
                [found]
                if found is not node
                else [value for target, value in assigned_parts(root) if target.deep_equals(node)]
            )
    elif isinstance(node, cst.Attribute):
        yield [value for target, value in assigned_parts(frame.module.tree) if target.deep_equals(node)]


def _asks_for_presence(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Comparison(_, [cst.ComparisonTarget(cst.Is() | cst.IsNot(), cst.Name("None"))]):
            return True
    return False


def _is_of_one_that_has_it(frame: Frame, value: Value) -> bool:
    """Whether a test of a single rank decides who has something."""
    tests = (part for each in steps(value.provenance) for part in _needed(each.node))
    return any(
        MAIN_PROCESS.fits(last_name(callee_of(each)))
        or (isinstance(each, cst.Comparison) and _is_of_one_rank(frame, each, value))
        for each in tests
    )


def _needed(test: cst.CSTNode) -> list[cst.CSTNode]:
    """The parts of a condition that all have to hold: `rank == 0 and folder is not None`."""
    match test:
        case cst.BooleanOperation(left, cst.And(), right):
            return [*_needed(left), *_needed(right)]
    return [test]


def _is_of_one_rank(frame: Frame, node: cst.BaseExpression, tested: Value) -> bool:
    """Whether a condition on the rank is written as one for a single rank: `manager.rank == 0`."""
    match node:
        case cst.Comparison(left, [cst.ComparisonTarget(cst.Equal(), cst.Integer())]):
            return _is_number_of_rank(frame, left, tested)
    return False


def _is_truth_of_rank(frame: Frame, node: cst.BaseExpression, tested: Value) -> bool:
    """Whether a condition asks for the truth of a rank's number, which is false on rank 0 alone: `rank`, `not rank`."""
    match node:
        case cst.UnaryOperation(cst.Not(), operand):
            return _is_number_of_rank(frame, operand, tested)
    return _is_number_of_rank(frame, node, tested)


def _is_number_of_rank(frame: Frame, node: cst.BaseExpression, tested: Value) -> bool:
    """Whether a value is the rank: by its name, or as the launcher's variable has it (`ddp_rank = int(…["RANK"])`).

    tested: the condition, of which only the variable is known if it is one of the module.
    """
    name = last_name(node).lstrip("_").lower()  # a constant of the module, `_RANK`, as well
    if RANK_FIELD.fits(name) or RANK_NUMBER.fits(name):
        return True
    known = frame.known_value(node)
    if isinstance(_written_out(frame, node), cst.BinaryOperation):  # the number of its node, perhaps
        return False
    if known is None:
        return isinstance(tested.provenance, LauncherVariable)
    is_rank = known.device == GLOBAL_RANK or isinstance(known.provenance, LauncherVariable)
    return is_rank and known.rank == ranks.RANK_LOCAL and known.dtype != "bool"
