"""`if len(rows):` of a list that all ranks fill at the same places: it is empty on all of them, or on none.

For example:

    for batch in loader:                 a prepared loader has the same number of batches on each rank
        if "ids" in batch:
            ids.extend(batch["ids"])     other ids on each rank
    if len(ids):                         the same answer on all: the length itself may still differ
        accelerator.gather(ids)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.interpreter.conditions.batch_rows import counted_in, tests_emptiness
from trl_lint.analysis.program.syntax import ancestors, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import UNKNOWN

# Not in torch_ops: methods of lists.
_FILL = frozenset({"append", "extend", "insert"})


def is_uniform_test(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a test only asks if an unchanged batch is empty, or a list that all ranks fill at the same places.

    The other parts of the test may ask for anything that does not differ between ranks.
    """
    if isinstance(test, cst.BooleanOperation):
        parts = (test.left, test.right)
        return all(
            not frame.node_values.get(id(each), UNKNOWN).rank.differs or is_uniform_test(frame, each) for each in parts
        )
    if tests_emptiness(frame, test):
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
    return test is not None and frame.node_values.get(id(test), UNKNOWN).rank.differs
