"""Places that no rank gets to if one of them lacks a value: all have said how much they have, and the least is nothing.

For example, where `rows` is None on some ranks:

    count = torch.tensor([len(rows) if rows is not None else 0])
    least = gathered(count).min().item()       or `dist.all_reduce(count, op=dist.ReduceOp.MIN)`
    if least == 0: return
    rows.sum()                                 all ranks have it
    if gathered(count).max() == 0: return
    rows.sum()                                 one of the ranks has it, the others may not
    if least_of_another == 0: return           says nothing of `rows`
    if least_of_a_group == 0: return           nor does that of some of the ranks, for the others
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.idioms.path_conditions import (
    Condition,
    ifs_around,
    is_kept,
    is_none_test,
    none_test_operand,
    outcomes_of_parts,
)
from trl_lint.analysis.program.syntax import last_name, of_class, only_element, precedes, resolved
from trl_lint.analysis.transfer.processes import groups
from trl_lint.knowledge.heuristics import GATHERS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

# Whether a count is above zero where it passes such a test.
_IS_SOME: dict[tuple[type[cst.CSTNode], str], bool] = {
    (cst.Equal, "0"): False,
    (cst.LessThanEqual, "0"): False,
    (cst.LessThan, "1"): False,
    (cst.NotEqual, "0"): True,
    (cst.GreaterThan, "0"): True,
    (cst.GreaterThanEqual, "1"): True,
}
# Not in torch_ops: what leaves a number as it is, whatever holds it.
_READ = frozenset({"cpu", "cuda", "flatten", "float", "int", "item", "long", "to", "tolist", "view"})
_CONVERT = frozenset({"as_tensor", "bool", "float", "int", "tensor"})
_LEAST = frozenset({"amin", "min"})
_REDUCES, _TO_LEAST = "all_reduce", "MIN"
# Where functions of torch.distributed take a group of ranks, and what others call it.
_OF_TORCH, _PLACE_OF_GROUP = frozenset({"all_gather", "all_gather_object", _REDUCES}), 2
_GROUP = frozenset({"group", "process_group"})


def have_it(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether all ranks that get to a place, where a value is used, have it, as they have asked each other."""
    root, used = frame.root, list(_from_left(node))
    for condition in _conditions_at(root, node):
        count = _count_above_zero(condition)
        if count is None or frame.value_of(count).rank.differs:
            continue
        asked = _asked_for(_own_in_least(frame, count))
        if asked is not None and any(each.deep_equals(asked) for each in used) and is_kept(root, asked, count):
            return True
    return False


def _from_left(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """An expression and what is at its left: `rows[:1].sum()`, `rows[:1].sum`, `rows[:1]` and `rows`."""
    while node is not None:
        yield node
        match node:
            case cst.Attribute(value=left) | cst.Subscript(value=left) | cst.Call(func=left):
                node = left
            case _:
                return


def _conditions_at(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[Condition]:
    """What holds at a place, as the branches around it and the exits before it say."""
    known = [*ifs_around(root, node), *((each, False) for each in exits_before(root, node))]
    return (part for branch, holds in known for part in outcomes_of_parts(Condition(branch.test, holds)))


def _count_above_zero(condition: Condition) -> cst.BaseExpression | None:
    """The number that is not zero where a condition holds: `count` where `count == 0` does not."""
    match condition.test:
        case cst.Comparison(left=count, comparisons=[cst.ComparisonTarget(operator, cst.Integer(value))]):
            return count if _IS_SOME.get((type(operator), value)) is condition.holds else None
        case cst.Comparison() | cst.BooleanOperation():
            return None
    return condition.test if condition.holds else None


def _asked_for(number: cst.CSTNode | None) -> cst.BaseExpression | None:
    """What is certainly there where a number is not zero: `rows` for `len(rows) if rows is not None else 0`."""
    match number:
        case cst.IfExp(test=test, body=body, orelse=orelse):
            without = body if is_none_test(test) else orelse
            return none_test_operand(test) if isinstance(without, cst.Integer) and without.value == "0" else None
        case cst.Comparison() if not is_none_test(number):
            return none_test_operand(number)
    return None


def _own_in_least(frame: Frame, count: cst.BaseExpression) -> cst.BaseExpression | None:
    """This rank's own number, if a number is the least of those of all ranks."""
    root = frame.root
    for least in _read_from(root, count):
        if isinstance(least, cst.Name) and _is_reduced_to_least(frame, least, count):
            return _last(_read_from(root, least))
        if isinstance(least, cst.Call) and last_name(least.func) in _LEAST:
            sent = (_sent(frame, each, count) for each in _read_from(root, _operand(least)))
            return next((_last(_read_from(root, each)) for each in sent if each is not None), None)
    return None


def _last(nodes: Iterable[cst.BaseExpression]) -> cst.BaseExpression:
    *_, last = nodes
    return last


def _is_reduced_to_least(frame: Frame, number: cst.Name, before: cst.CSTNode) -> bool:
    """Whether the ranks have exchanged the least of a number, in its place."""
    return any(
        last_name(call.func) == _REDUCES
        and bool(call.args)
        and call.args[0].value.deep_equals(number)
        and any(last_name(each.value) == _TO_LEAST for each in call.args[1:])
        and precedes(frame.root, call, before)
        and _is_of_all_ranks(frame, call)
        for call in of_class(frame.root, cst.Call)
    )


def _sent(frame: Frame, numbers: cst.BaseExpression, before: cst.CSTNode) -> cst.BaseExpression | None:
    """What each rank has sent, if some numbers are those of all ranks: `gathered(n)`, `all_gather(numbers, n)`."""
    if isinstance(numbers, cst.Name):
        for call in of_class(frame.root, cst.Call):
            is_filled = len(call.args) > 1 and call.args[0].value.deep_equals(numbers)
            if is_filled and GATHERS.fits(last_name(call.func)) and precedes(frame.root, call, before):
                return call.args[1].value if _is_of_all_ranks(frame, call) else None
    match numbers:
        case cst.Call(func=func, args=[cst.Arg(value=sent), *_]) as call if GATHERS.fits(last_name(func)):
            return sent if _is_of_all_ranks(frame, call) else None
    return None


def _is_of_all_ranks(frame: Frame, call: cst.Call) -> bool:
    """Whether a call gets no group of ranks: torch takes it as the third argument, and any function by its name."""
    is_of_torch = last_name(call.func) in _OF_TORCH
    given = [
        frame.known_value(each.value)
        for position, each in enumerate(call.args)
        if (is_of_torch and position == _PLACE_OF_GROUP and each.keyword is None)
        or (each.keyword is not None and each.keyword.value in _GROUP)
    ]
    return all(each is not None and groups.is_of_all_ranks(each) for each in given)


def _operand(call: cst.Call) -> cst.BaseExpression:
    """What a call is about: its first argument, or the object of its method."""
    owner = call.func.value if isinstance(call.func, cst.Attribute) else call
    return call.args[0].value if call.args else owner


def _read_from(root: cst.CSTNode, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """An expression and what it is read from, through names that are bound once: `int(n)`, `n`, `tensor([2])`, `2`."""
    seen = set[int]()
    while id(node) not in seen:
        seen.add(id(node))
        yield node
        match node:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if name in _READ:
                node = owner
            case cst.Call(args=[cst.Arg(value=given), *_]) if last_name(node.func) in _CONVERT:
                node = only_element(given) or given
            case cst.GeneratorExp(for_in=loop) | cst.ListComp(for_in=loop) if not loop.ifs:
                node = loop.iter
            case _:
                node = resolved(root, node)
