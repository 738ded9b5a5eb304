"""Ranks that leave a branch on a condition on which the others leave right behind it: all have left together.

For example:

    for epoch in epochs:
        train()
        if rank == 0:
            save()
            if step > steps:
                break                     rank 0 leaves the loop
        if step > steps:
            break                         so do the others, before anybody waits

So have those that leave a loop in its last turn (`last_turns`).

Not if the condition may have changed on the way, or if the others meet, or may get elsewhere, before they leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from trl_lint.analysis.program.blocks import ends_outside, last_statement
from trl_lint.analysis.program.idioms.last_turns import leave_in_last_turn
from trl_lint.analysis.program.idioms.path_conditions import (
    EXITS,
    Condition,
    bindings,
    branch_of,
    ifs_around,
    outcomes_of_parts,
)
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    below,
    innermost,
    last_name,
    of_class,
    precedes,
    used_names,
)
from trl_lint.knowledge.heuristics import SETTINGS_OBJECT

# What a condition may consist of, for two equal ones to have the same outcome.
_PLAIN = (
    cst.BaseBooleanOp,
    cst.BaseBinaryOp,
    cst.BaseCompOp,
    cst.BaseNumber,
    cst.BaseUnaryOp,
    cst.BinaryOperation,
    cst.BooleanOperation,
    cst.Comparison,
    cst.ComparisonTarget,
    cst.SimpleString,
    cst.UnaryOperation,
)


def leave_together(
    root: cst.CSTNode, test: cst.CSTNode, leaving: Sequence[cst.CSTNode], met: Iterable[cst.CSTNode]
) -> bool:
    """Whether the ranks that do not leave a branch by these statements leave behind it, as the same conditions hold, or
    as the loop ends.

    met: where the function synchronises with other ranks.
    """
    branch = branch_of(root, test)
    if branch is None or not leaving:
        return False
    met = list(met)
    if leave_in_last_turn(root, leaving, met):
        return True
    points = [each for each in met if precedes(root, branch, each)]
    return all(_is_repeated(root, branch, each, points) for each in leaving)


def _is_repeated(root: cst.CSTNode, branch: cst.If, leaving: cst.CSTNode, points: Sequence[cst.CSTNode]) -> bool:
    known = [part for each in _conditions(root, branch, leaving) for part in outcomes_of_parts(each)]
    between: list[cst.CSTNode] = [branch]
    for statement in statements_after(root, branch):
        if isinstance(statement, cst.If) and _ends_alike(root, statement, branch, leaving):
            needed = outcomes_of_parts(Condition(statement.test, True))
            last = last_statement(statement.body) or statement
            return (
                not any(precedes(root, each, last) for each in points)
                and all(any(_are_equal(each, one) for one in known) for each in needed)
                and has_one_outcome(root, statement.test, between)
            )
        if any(isinstance(each, EXITS) for each in below(statement)):
            return False
        between.append(statement)
    return False


def _conditions(root: cst.CSTNode, branch: cst.If, leaving: cst.CSTNode) -> list[Condition]:
    """What holds where ranks leave a branch, by its own test and those in it."""
    inside = {id(branch), *(id(each) for each in below(branch))}
    return [Condition(each.test, holds) for each, holds in ifs_around(root, leaving) if id(each) in inside]


def statements_after(root: cst.CSTNode, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements behind one, as a branch or a loop, in the block that it is in."""
    block = next(reversed(ancestors(root, statement)), None)
    if isinstance(block, (cst.IndentedBlock, cst.Module)):
        place = next(index for index, each in enumerate(block.body) if each is statement)
        yield from block.body[place + 1 :]


def _ends_alike(root: cst.CSTNode, other: cst.If, branch: cst.If, leaving: cst.CSTNode) -> bool:
    """Whether an `if` behind a branch ends with a statement that leaves to where one in that branch does."""
    last = last_statement(other.body)
    if not ends_outside(other.body) or type(last) is not type(leaving):
        return False
    exits = [each for each in below(other.body) if isinstance(each, EXITS)]
    is_to_same = isinstance(leaving, cst.Return) or innermost(root, leaving, *LOOPS) is innermost(root, branch, *LOOPS)
    return is_to_same and exits == [last]


def _are_equal(one: Condition, other: Condition) -> bool:
    return one.holds is other.holds and one.test.deep_equals(other.test)


def has_one_outcome(root: cst.CSTNode, test: cst.BaseExpression, between: Sequence[cst.CSTNode]) -> bool:
    """Whether a test has one outcome throughout some statements: nothing in it is bound there, or may be changed."""
    inside = {id(each) for statement in between for each in below(statement)}
    changing = [each for statement in between for each in of_class(statement, cst.Call)]
    return all(_keeps(root, each, inside, changing) for each in _operands(test))


def _operands(test: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """The names, attributes and other expressions that a test is made of."""
    todo: list[cst.CSTNode] = [test]
    while todo:
        node = todo.pop()
        if isinstance(node, _PLAIN):
            todo.extend(node.children)
        elif isinstance(node, cst.BaseExpression):
            yield node


def _keeps(root: cst.CSTNode, subject: cst.CSTNode, inside: set[int], calls: Sequence[cst.Call]) -> bool:
    if not isinstance(subject, (cst.Attribute, cst.Name)) or any(isinstance(each, cst.Call) for each in below(subject)):
        return False
    if any(id(each) in inside for each in bindings(root, subject)):
        return False
    if isinstance(subject, cst.Name) or SETTINGS_OBJECT.fits(last_name(subject.value)):
        return True
    return not any(used_names(subject) & used_names(each) for each in calls)
