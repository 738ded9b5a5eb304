"""One rank sends an answer and leaves by it; the others receive it, and leave by what they have received.

For example:

    if rank == 0:
        done = os.path.exists(path)
        dist.broadcast_object_list([done], src=0)
        if done: return                             rank 0 leaves
    else:
        box = [None]
        dist.broadcast_object_list(box, src=0)
        if box[0]: return                           so do the others: it is the same answer
    dist.barrier()

    done = broadcast()                              a helper of the project that is passed nothing, and returns it

Not if one of them leaves by anything else than what is sent, or without it.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import EXITS, branch_of
from trl_lint.analysis.program.project.passed_arguments import argument_at
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    below,
    last_name,
    of_class,
    operands,
    precedes,
    resolved,
    used_names,
)
from trl_lint.knowledge.torch_distributed import SEND_TO_ALL, SENDER

_BUILTINS = frozenset(dir(builtins))
# The code of answers that are no.
_NO = frozenset({"0", "False", "None", '""', '"0"', '"False"', '"None"'})


def leave_by_answer(
    root: cst.CSTNode, test: cst.CSTNode, leaving: Sequence[cst.CSTNode], met: Iterable[cst.CSTNode]
) -> bool:
    """Whether ranks that leave a branch by this statement do so by what they have sent to those in the other one.

    met: where the function synchronises with other ranks.
    """
    branch = branch_of(root, test)
    if branch is None or len(leaving) != 1 or not isinstance(branch.orelse, cst.Else):
        return False
    points = {id(each) for each in met}
    arms = (branch.body, branch.orelse.body)
    sent = [[call for call in of_class(arm, cst.Call) if id(call) in points] for arm in arms]
    ways = [[each for each in below(arm) if isinstance(each, EXITS)] for arm in arms]
    if any(len(each) != 1 for each in sent) or any(len(each) != 1 for each in ways):
        return False
    if type(ways[0][0]) is not type(ways[1][0]) or not any(each is leaving[0] for (each,) in ways):
        return False
    outcomes = {_left_at(root, arm, call, way) for arm, (call,), (way,) in zip(arms, sent, ways, strict=True)}
    return len(outcomes) == 1 and None not in outcomes and _are_one(branch.test, *sent[0], *sent[1])


def _are_one(test: cst.CSTNode, call: cst.Call, other: cst.Call) -> bool:
    """Whether two calls send the same rank's object, that of the first rank or of the one that a test asks for."""
    source, received = (argument_at(each, *SENDER) for each in (call, other))
    if source is None or received is None:
        is_same = source is received  # both of them send what rank 0 has
    else:
        is_asked_for = _code_of(source) == "0" or any(each.deep_equals(source) for each in operands(test))
        is_same = is_asked_for and source.deep_equals(received)
    return is_same and last_name(call.func) == last_name(other.func) and last_name(call.func) in SEND_TO_ALL


def _left_at(root: cst.CSTNode, arm: cst.BaseSuite, call: cst.Call, way: cst.CSTNode) -> bool | None:
    """The outcome of a test of what ranks send or receive in a branch by which they leave it; None if there is none."""
    inside = [ancestors(arm, each) for each in (call, way)]
    around = [each for each in inside[1] if isinstance(each, (cst.If, *LOOPS))]
    if any(isinstance(each, (cst.If, *LOOPS)) for each in inside[0]) or len(around) != 1:
        return None
    branch, known = around[0], _exchanged(arm, call)
    if not isinstance(branch, cst.If) or not precedes(root, call, branch):
        return None
    own = {name for target, _ in assignments(root) for name in used_names(target)}
    asked = [used_names(each) - _BUILTINS for each in (branch.test, resolved(arm, branch.test))]
    if not any(names and names <= known & own for names in asked):
        return None
    return any(each is way for each in below(branch.body)) is not _is_denied(branch.test)


def _exchanged(arm: cst.BaseSuite, call: cst.Call) -> set[str]:
    """The names that a call sends or receives; of one that is passed nothing, what its result is assigned to."""
    if not call.args:
        return {target.value for target, value in assignments(arm) if value is call and isinstance(target, cst.Name)}
    value = argument_at(call, 0, "tensor") or argument_at(call, None, "object_list")
    return set() if value is None else used_names(value) | used_names(resolved(arm, value))


def _is_denied(test: cst.BaseExpression) -> bool:
    """Whether a test holds where an answer is no: `not done`, `done == "False"`, `flag != 1`, `error is None`."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return not _is_denied(inner)
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.LessThan() | cst.LessThanEqual())]):
            return True
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Equal() | cst.Is(), comparator=other)]):
            return _code_of(other) in _NO
        case cst.Comparison(comparisons=[cst.ComparisonTarget(cst.NotEqual() | cst.IsNot(), comparator=other)]):
            return _code_of(other) not in _NO
    return False


def _code_of(node: cst.BaseExpression) -> str:
    return node.value.replace("'", '"') if isinstance(node, (cst.Integer, cst.Name, cst.SimpleString)) else ""
