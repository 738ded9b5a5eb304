"""How the conditions around and before a place relate: which of them can not hold together.

For example:

    if done and not resumed: return       the exit is taken where `resumed` is false
    if resumed: meet()                    and this is reached where it is true
    if not rows: return
    if rows: meet()                       true whenever it is reached
    if few: split = False                 a rank that continues after this
            if not main: return
    if split: meet()                      does not reach this either
    if rows is None: return               a value that is not None may be true or false; this is taken where it is false
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.syntax import LOOPS, ancestors, below, holder_name, inwards, parts_of_target, precedes
from trl_lint.analysis.program.tree_caches import tree_cache

_Node = TypeVar("_Node", bound=cst.CSTNode)

EXITS = (cst.Break, cst.Continue, cst.Return)
_CONSTANTS = {"False": False, "None": False, "True": True}


class Condition(NamedTuple):
    """A test, and whether it is true. One on a name has only that, or an attribute, as its test."""

    test: cst.BaseExpression
    holds: bool


def conditions_at(root: cst.CSTNode, node: cst.CSTNode) -> list[Condition]:
    """The conditions on names that hold at a place of a function (or module), by branches around and exits before."""
    return [*conditions_around(root, node), *conditions_after_exits(root, node)]


def conditions_around(root: cst.CSTNode, node: cst.CSTNode) -> list[Condition]:
    """The conditions on names that hold at a place of a function (or module), by the branches around it."""
    return [each for branch, holds in ifs_around(root, node) for each in conditions_implied_by(branch.test, holds)]


def branches_around(root: cst.CSTNode, node: cst.CSTNode) -> dict[int, int]:
    """The `if` statements around a place, by the ids of their tests, and in which branch it is: the first or second."""
    return {id(branch.test): int(not holds) for branch, holds in ifs_around(root, node)}


def conditions_after_exits(root: cst.CSTNode, node: cst.CSTNode) -> list[Condition]:
    """The conditions on names that hold at a place because earlier exits, in the blocks around it, were not taken."""
    return [each for exit_ in exits_before(root, node) for each in conditions_implied_by(exit_.test, False)]


def ifs_around(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[tuple[cst.If, bool]]:
    """The `if` statements around a place, from the outermost, each with whether the place is where its test holds."""
    for outer, inner in inwards(root, node):
        if isinstance(outer, cst.If) and inner is not outer.test:
            yield outer, outer.body is inner


def are_in_opposite_branches(root: cst.CSTNode, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether two places of a function (or module) are in two branches of one `if` or `match`: only one is reached."""
    for (outer, inner), (same, theirs) in zip(inwards(root, one), inwards(root, other), strict=False):
        if inner is not theirs:
            if outer is same and isinstance(inner, cst.MatchCase) and isinstance(theirs, cst.MatchCase):
                return True
            return outer is same and isinstance(outer, cst.If) and outer.test not in (inner, theirs)
    return False


def set_before(root: cst.CSTNode, node: cst.CSTNode) -> list[Condition]:
    """The names that are set to True, False or None before a place, in the blocks around it, and never rebound."""
    if any(isinstance(each, LOOPS) for each in (*ancestors(root, node), node)):
        return []
    return [
        setting
        for block, inner in inwards(root, node)
        if isinstance(block, (cst.IndentedBlock, cst.Module))
        for statement in block.body[: block.body.index(inner)]
        if (setting := _setting(statement)) is not None and _is_last(root, setting.test)
    ]


def _setting(statement: cst.CSTNode) -> Condition | None:
    match statement:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)], value=cst.Name(value=value))]
        ) if value in _CONSTANTS:
            return Condition(name, _CONSTANTS[value])
    return None


def _is_last(root: cst.CSTNode, name: cst.BaseExpression) -> bool:
    """Whether `name`, the target of an assignment, is the last binding of that name."""
    *_, last = bindings(root, name)
    return isinstance(last, cst.AssignTarget) and last.target is name


def branch_of(root: cst.CSTNode, test: cst.CSTNode) -> cst.If | None:
    """The `if` statement that has this test, if there is one."""
    around = next(reversed(ancestors(root, test)), None)
    return around if isinstance(around, cst.If) and around.test is test else None


def arms_before(root: cst.CSTNode, branch: cst.If) -> list[cst.BaseSuite]:
    """What is done instead of an `elif`, where a test before it is true."""
    found: list[cst.BaseSuite] = []
    for around in reversed(ancestors(root, branch)):
        if not isinstance(around, cst.If) or around.orelse is not branch:
            break
        found.append(around.body)
        branch = around
    return found


def parts_of(test: _Node) -> list[_Node | cst.BaseExpression]:
    """The parts of a condition that must all hold: `main and flag` admits no more ranks than `main`."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*parts_of(test.left), *parts_of(test.right)]
    return [test]


def alternatives(test: _Node) -> list[_Node | cst.BaseExpression]:
    """The parts of a condition of which one is enough: `main or deepspeed`."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        return [*alternatives(test.left), *alternatives(test.right)]
    return [test]


def conditions_implied_by(test: cst.BaseExpression, outcome: bool) -> list[Condition]:
    """The conditions on names that follow if a test has this outcome."""
    parts = (_of_tested_for_none(each) for each in outcomes_of_parts(Condition(test, outcome)))
    return [each for each in parts if isinstance(each.test, (cst.Attribute, cst.Name))]


def _of_tested_for_none(known: Condition) -> Condition:
    """The condition on `x` that follows from `x is None`: it is false."""
    subject = none_test_operand(known.test)
    return known if subject is None or is_none_test(known.test) is not known.holds else Condition(subject, False)


def outcomes_of_parts(known: Condition) -> Iterator[Condition]:
    """The outcomes of the parts of a test that follow from its own."""
    match known.test:
        case cst.UnaryOperation(operator=cst.Not(), expression=denied):
            yield from outcomes_of_parts(Condition(denied, not known.holds))
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            if isinstance(operator, cst.And) is known.holds:
                for part in (left, right):
                    yield from outcomes_of_parts(Condition(part, known.holds))
        case _:
            yield known


def none_test_operand(test: cst.BaseExpression) -> cst.BaseExpression | None:
    """The operand `x` of `x is None` and `x is not None`."""
    match test:
        case cst.Comparison(
            left=subject,
            comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot(), comparator=cst.Name("None"))],
        ):
            return subject
    return None


def is_none_test(test: cst.BaseExpression) -> bool:
    """Whether a test of None is `x is None`, not `x is not None`."""
    return isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, cst.Is)


def contradiction(one: list[Condition], other: list[Condition]) -> Condition | None:
    """One of the first conditions that contradicts one of the others."""
    for each in one:
        if any(each.holds is not theirs.holds and each.test.deep_equals(theirs.test) for theirs in other):
            return each
    return None


def exits_in(branch: cst.If) -> list[cst.CSTNode]:
    """The statements that leave a branch for good."""
    return [node for node in below(branch) if isinstance(node, EXITS)]


def is_lasting(root: cst.CSTNode, subject: cst.BaseExpression) -> bool:
    """Whether a name or attribute has one value in the whole function: it is bound once, and not in a loop."""
    found = list(bindings(root, subject))
    if isinstance(subject, cst.Attribute):
        return not found
    return len(found) <= 1 and not any(isinstance(each, LOOPS) for one in found for each in ancestors(root, one))


def is_bound(root: cst.CSTNode, subject: cst.BaseExpression) -> bool:
    return any(True for _ in bindings(root, subject))


def is_bound_once(root: cst.CSTNode, subject: cst.BaseExpression) -> bool:
    return len(list(bindings(root, subject))) <= 1


_BINDS = frozenset({cst.AnnAssign, cst.AsName, cst.AssignTarget, cst.AugAssign, cst.CompFor, cst.For, cst.NamedExpr})


def bindings(root: cst.CSTNode, subject: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """The statements that bind this name, or assign this attribute."""
    kind = type(subject)
    for node, parts in _all_bindings(root):
        if any(type(each) is kind and each.deep_equals(subject) for each in parts):
            yield node


def is_kept(root: cst.CSTNode, subject: cst.BaseExpression, since: cst.CSTNode) -> bool:
    """Whether a name, or the object with an attribute, is the same from a place of a function (or module) on.

    Other attributes of that object may be set: `args.batch_size` says nothing of `args.cached`.
    """
    found = [each for each, _ in _all_bindings(root) if _replaces(_target(each), subject)]
    in_loop = any(isinstance(each, LOOPS) for one in found for each in ancestors(root, one))
    return len(found) <= 1 and not in_loop and all(precedes(root, each, since) for each in found)


def _replaces(target: cst.CSTNode, subject: cst.BaseExpression) -> bool:
    """Whether an assignment may give a name, or something before the last dot of an attribute, another object."""
    owner = subject.value if isinstance(subject, cst.Attribute) else subject
    parts = list(parts_of_target(target)) if isinstance(target, cst.BaseExpression) else []
    if any(isinstance(each, cst.Subscript) and holder_name(each) == holder_name(owner) for each in parts):
        return True
    owners = [each for each in below(owner) if isinstance(each, (cst.Attribute, cst.Name))]
    return any(each.deep_equals(one) for each in parts for one in owners)


# Queried name by name, on trees that are never changed.
@tree_cache(64)
def _all_bindings(root: cst.CSTNode) -> tuple[tuple[cst.CSTNode, tuple[cst.CSTNode, ...]], ...]:
    """Every binding statement, and the nodes of its target."""
    found = (node for node in below(root) if type(node) in _BINDS)
    return tuple((node, tuple(below(_target(node)))) for node in found)


def _target(node: cst.CSTNode) -> cst.CSTNode:
    target: cst.CSTNode = node.name if isinstance(node, cst.AsName) else getattr(node, "target")  # noqa: B009
    return target


def comes_after(root: cst.CSTNode, branch: cst.If, node: cst.CSTNode) -> bool:
    """Whether a place comes after a branch, in the same block or nested in it."""
    block = next(reversed(ancestors(root, branch)), None)
    path = (*ancestors(root, node), node)
    if block is None or block not in path or branch in path:
        return False
    statements = block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()
    inside = path[path.index(block) + 1] if block is not node else None
    return inside in statements and statements.index(branch) < statements.index(inside)
