"""Places that are only reached where a group has one rank, so that no rank is any but the first of its group.

    if get_tensor_parallel_rank() != 0:
        return
    if args.dispatch:
        assert get_tensor_parallel_world_size() == 1
        dist.barrier()                        no rank has left
    dist.barrier()                            some may have

A group is recognised by what the names of its rank and its size have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import Condition, outcomes_of_parts
from trl_lint.analysis.program.idioms.path_constraints import constraints_on_path
from trl_lint.analysis.program.syntax import callee_of, inwards, last_name, operands
from trl_lint.knowledge.heuristics import RANK_OF_GROUP, SIZE_OF_GROUP, Guess


def groups_of(test: cst.CSTNode, differs: Callable[[cst.CSTNode], bool]) -> frozenset[str]:
    """The groups whose ranks a condition asks for; none if it differs between ranks in another way, too."""
    found = [_group(RANK_OF_GROUP, each) for each in operands(test) if differs(each)]
    return frozenset(found) if all(found) else frozenset()


def have_one_rank(root: cst.CSTNode, groups: frozenset[str], node: cst.CSTNode) -> bool:
    """Whether a place of a function (or module) is only reached where each of these groups has one rank."""
    if not groups:
        return False
    asserted = (Condition(each, True) for each in _asserted_before(root, node))
    known = (part for each in (*constraints_on_path(root, node), *asserted) for part in outcomes_of_parts(each))
    return groups <= {_group_of_one(each) for each in known}


def _asserted_before(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What is asserted before a place, in the blocks around it."""
    for block, inner in inwards(root, node):
        if isinstance(block, (cst.IndentedBlock, cst.Module)):
            lines = (
                each for each in block.body[: block.body.index(inner)] if isinstance(each, cst.SimpleStatementLine)
            )
            yield from (part.test for line in lines for part in line.body if isinstance(part, cst.Assert))


def _group_of_one(known: Condition) -> str:
    """The group that has one rank if a test has this outcome: `tp_size == 1`, or `tp_size > 1` if it is false."""
    match known.test:
        case cst.Comparison(left=size, comparisons=[cst.ComparisonTarget(operator, cst.Integer("1"))]):
            says_one = (cst.Equal, cst.LessThanEqual) if known.holds else (cst.GreaterThan, cst.NotEqual)
            return _group(SIZE_OF_GROUP, size) if isinstance(operator, says_one) else ""
    return ""


def _group(names: Guess, node: cst.CSTNode) -> str:
    """The group in the name of a value, or of the function that is called for it."""
    found = names.values(last_name(callee_of(node)))
    return (found[0] or "") if found is not None else ""
