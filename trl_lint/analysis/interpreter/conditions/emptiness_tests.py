"""`if len(rows):` of a batch, and of a list that all ranks fill at the same places: no rank takes that branch alone.

For example:

    for batch in loader:                          a prepared loader has the same number of batches on each rank
        rows = batch["input_ids"].shape[0]
        if rows == 0: continue                    the same answer on all ranks: no batch is empty
        picked = batch["input_ids"][batch["keep"]]
        if len(picked) == 0: continue             on one of the ranks the mask may select nothing,
        if len(batch["images"]) == 0: continue    and a rank's texts may have no image
        if "ids" in batch:
            ids.extend(batch["ids"])              other ids on each rank
    if len(ids):                                  the same answer on all: the length itself may still differ
        accelerator.gather(ids)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, assigned_once, assignments, holder_name, loop_targets, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import BatchRole, ContainerValue, role_of
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import PADDED_FIELD, PADDED_LABELS

# How a count is compared to test whether there is anything.
_ASKS_FOR_ANY = {
    (cst.Equal, "0"),
    (cst.GreaterThan, "0"),
    (cst.GreaterThanEqual, "1"),
    (cst.LessThan, "1"),
    (cst.NotEqual, "0"),
}
# Not in torch_ops: the question here is which of them are counts.
_SIZES = frozenset({"numel", "size"})


def counted_in(test: cst.CSTNode) -> cst.CSTNode | None:
    """The count that a test compares with 0; None if it asks for something else."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return counted_in(inner) or inner
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator, cst.Integer(value))]):
            return left if (type(operator), value) in _ASKS_FOR_ANY else None
    return None


def _tests_emptiness(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a test only asks whether a batch, or an unchanged field of it, is empty."""
    count = counted_in(test)
    if isinstance(count, cst.Name):
        count = _unpacked_once(frame, count.value) or _assigned_once(frame, count.value)
    counted = None if count is None else measured(count)
    return counted is not None and _is_unchanged_batch(frame, counted)


def _unpacked_once(frame: Frame, name: str) -> cst.BaseExpression | None:
    """The shape that a function unpacks into a name that it binds once: `rows, columns = ids.shape`."""
    found = [each for each in of_class(frame.root, cst.Assign) if _binds(each, name)]
    if len(found) != 1 or name in loop_targets(frame.root) or assigned_once(frame.root, name) is not None:
        return None
    return found[0].value


def _binds(assign: cst.Assign, name: str) -> bool:
    """Whether an assignment unpacks something into a name, among others."""
    items = (item for each in assign.targets if isinstance(each.target, cst.Tuple) for item in each.target.elements)
    return any(isinstance(item.value, cst.Name) and item.value.value == name for item in items)


def _assigned_once(frame: Frame, name: str) -> cst.CSTNode | None:
    """The value of a name that a function assigns once."""
    return None if name in loop_targets(frame.root) else assigned_once(frame.root, name)


def measured(count: cst.CSTNode) -> cst.CSTNode | None:
    """The object whose size a count is: `len(rows)`, `rows.shape[0]`, `rows.size(0)`, `rows.numel()`."""
    match count:
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=sized)]):
            return sized
        case cst.Call(func=cst.Attribute(value=sized, attr=cst.Name(name))) if name in _SIZES:
            return sized
        case cst.Subscript(value=cst.Attribute(value=sized, attr=cst.Name("shape"))):
            return sized
        case cst.Attribute(value=sized, attr=cst.Name("shape")):  # the name is bound to one of its parts
            return sized
    return None


def _is_unchanged_batch(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether an expression is a given batch, or a token field of one, that the function does not change."""
    role = role_of(frame.value_of(node))
    if role is BatchRole.WHOLE:
        return isinstance(node, cst.Name) and _is_given(frame, node.value) and _is_unassigned(frame, node.value)
    entry = _assigned_once(frame, node.value) if isinstance(node, cst.Name) else node
    match entry:
        case cst.Subscript(
            value=cst.Name(batch), slice=[cst.SubscriptElement(cst.Index(cst.SimpleString(value=name)))]
        ):
            return role is BatchRole.FIELD and _has_tokens(name.strip("\"'")) and _is_unassigned(frame, batch)
    return False


def _is_given(frame: Frame, name: str) -> bool:
    """Whether a name is the target of a loop, or a parameter."""
    function = frame.function
    is_parameter = function is not None and any(each.name == name for each in function.parameters)
    return is_parameter or name in loop_targets(frame.root)


def _has_tokens(field: str) -> bool:
    """Whether a field of a batch has tokens for each sample: other fields may be empty."""
    return PADDED_FIELD.fits(field) or PADDED_LABELS.fits(field)


def _is_unassigned(frame: Frame, name: str) -> bool:
    """Whether a function assigns neither a name nor any part of the object it is bound to."""
    return name not in (holder_name(target) for target, _ in assignments(frame.root))


# Not in torch_ops: methods of lists.
_FILL = frozenset({"append", "extend", "insert"})


def is_uniform_test(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a test only asks if an unchanged batch is empty, or a list that all ranks fill at the same places.

    The other parts of the test may ask for anything that does not differ between ranks.
    """
    if isinstance(test, cst.BooleanOperation):
        parts = (test.left, test.right)
        return all(not frame.value_of(each).rank.differs or is_uniform_test(frame, each) for each in parts)
    if _tests_emptiness(frame, test):
        return True
    name = _list_of(test)
    fills = list(_fills(frame, name)) if name else []
    return (
        bool(fills)
        and not any(_is_under_rank_local_data(frame, each) for each in fills)
        and not _leaves_by_rank_local_data(frame)
    )


def _list_of(test: cst.CSTNode) -> str:
    """The name of the list that a test asks to be non-empty; "" if it asks for something else."""
    match counted_in(test) or test:
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=cst.Name(name))]):
            return name
    return ""


def _fills(frame: Frame, name: str) -> Iterator[cst.CSTNode]:
    """The nodes that add something to the list of this name."""
    for call in of_class(frame.root, cst.Call):
        match call.func:
            case cst.Attribute(value=cst.Name(owner), attr=cst.Name(method)) if owner == name and method in _FILL:
                yield call
    for added in of_class(frame.root, cst.AugAssign):
        if isinstance(added.target, cst.Name) and added.target.value == name:
            yield added


def _is_under_rank_local_data(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a node is inside a condition on rank-local data, a `while` or a `try`."""
    around = ancestors(frame.root, node)
    return any(isinstance(each, (cst.While, cst.Try)) or _differs(frame, each) for each in around)


def _leaves_by_rank_local_data(frame: Frame) -> bool:
    """Whether a `continue` or `break` anywhere in the function is inside a condition on rank-local data."""
    exits = (*of_class(frame.root, cst.Continue), *of_class(frame.root, cst.Break))
    return any(_is_under_rank_local_data(frame, each) for each in exits)


def _differs(frame: Frame, node: cst.CSTNode) -> bool:
    test = node.test if isinstance(node, (cst.If, cst.IfExp)) else None
    return test is not None and frame.value_of(test).rank.differs


def truth_by_place(frame: Frame, value: Value) -> Value | None:
    """The truth of a container whose number of elements depends on the rank, as `len(…)` of it does; None for others.

    It may hold on several ranks, or on all: it keeps none of them out for sure. That of the elements that pass a test
    of the rank's own data is false wherever none does.

    rows = []
    for i in range(rank, len(questions), size):
        rows.append(answer(questions[i]))
    if rows:
    hard = [row for row, score in zip(batch, scores) if score < 0]
    if hard:
    """
    if not isinstance(value, ContainerValue):
        return None
    lengths = [cell.length for cell in frame.memory.cells(value)]
    length = reduce(ranks.join, lengths, ranks.SAME)
    if lengths and all(each.how == ranks.PICKED and each.origins == Origin.DATA for each in lengths):
        return derived(Rank(State.LOCAL, Origin.DATA), Kind.NUMBER, value, dtype="bool")
    if not length.differs or Origin.RANK not in length.origins:
        return None
    return derived(Rank(State.LOCAL, length.origins, ranks.HAS_ROWS), Kind.NUMBER, value, dtype="bool")
