"""`(x * m).sum() / m.sum()`: the sums over all ranks are added up and divided once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import libcst as cst

from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.support.blocks import torch_in_reach
from trl_lint.fixes.support.collecting import on_device, summed
from trl_lint.fixes.support.edits import NoFix
from trl_lint.fixes.support.logged import Gathered, LogSite, core_of, identifier, is_number, only_binding
from trl_lint.fixes.support.scope import binders, free_name, is_before, is_pure, may_change_objects, used_names
from trl_lint.fixes.support.tree import call_of, with_replaced


def ratio_of(place: LogSite, node: Any) -> Gathered | None:
    """`(x * m).sum() / m.sum()`: the sums over all ranks are divided once."""
    if isinstance(node, cst.Name):
        return _ratio_behind(place, node)
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Divide):
        return None
    sides = []
    for side in (node.left, _without_floor(node.right)):
        value = place.value_of(side)
        if value is None:
            return None
        core, value, proven = core_of(place, side, value)
        if value.rank.how not in ("sum", "count") or not value.rank.differs or not (value.scalar or proven):
            return None
        if value.kind not in (Kind.TENSOR, Kind.BATCH, Kind.NUMBER):
            return None
        sides.append((core, value))
    if not place.payload.accelerator:
        return None
    base = identifier(place.what) or "local"
    names = [free_name(place.root, f"{base}_{part}") for part in ("sum", "count")]
    numbers = [is_number(value) for _, value in sides]
    stacked = _stacked(place, sides, all(numbers))
    code = cst.Module([]).code_for_node
    total, imports = summed(place, stacked)
    line = f"{', '.join(names)} = {code(total)}"
    replaced = tuple(
        (core, call_of(cst.Name(name), "item") if number else cst.Name(name))
        for (core, _), name, number in zip(sides, names, numbers, strict=True)
    )
    torch = torch_in_reach(place.module, place.root, place.statement)
    if isinstance(torch, NoFix):
        return None
    return Gathered(replaced, any(numbers), imports=(*torch, *imports), lines=(line,))


def _ratio_behind(place: LogSite, name: cst.Name) -> Gathered | None:
    """A name for a ratio that is needed as it is elsewhere: its sums are added up anew for the log."""
    assign = only_binding(place, name)
    if assign is None or _changes_between(place, assign, name):
        return None
    found = ratio_of(place, assign.value) if isinstance(assign.value, cst.BinaryOperation) else None
    if found is None:
        return None
    quotient = with_replaced(assign.value, found.replaced)
    if not quotient.lpar:
        quotient = quotient.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return replace(found, replaced=((name, quotient),))


def _changes_between(place: LogSite, assign: Any, name: cst.Name) -> bool:
    """Whether a part of what was assigned may be another one, or do more, when it is computed again."""
    if not is_pure(assign.value) or may_change_objects(place.root):
        return True
    parts = used_names(assign.value)
    bound = [node for node in binders(place.root, parts) if not is_before(place.root, node, assign)]
    return bool(bound)


def _without_floor(node: Any) -> Any:
    """`count.clamp(min=1)`, `max(count, 1)`: the count itself; what keeps it from zero is done after the sum."""
    match node:
        case cst.Call(func=cst.Attribute(value=count, attr=cst.Name("clamp")), args=[arg]):
            named = arg.keyword is None or arg.keyword.value == "min"
            return count if named and _is_floor(arg.value) else node
        case cst.Call(func=cst.Attribute(value=count, attr=cst.Name("clamp_min")), args=[arg]):
            return count if _is_floor(arg.value) else node
        case cst.Call(func=cst.Name(value="max"), args=[first, second]):
            return first.value if _is_floor(second.value) else node
        case cst.Call(func=cst.Attribute(value=cst.Name("torch"), attr=cst.Name("clamp")), args=[first, arg]):
            named = arg.keyword is None or arg.keyword.value == "min"
            return first.value if named and _is_floor(arg.value) else node
        case cst.BinaryOperation(left=count, operator=cst.Add(), right=right) if _is_floor(right):
            return count
    return node


def _is_floor(node: Any) -> bool:
    """A number up to one: a larger bound is meant for the count of one rank."""
    return isinstance(node, (cst.Integer, cst.Float)) and float(node.value) <= 1


def _stacked(place: LogSite, sides: list[tuple[Any, Value]], numbers: bool) -> cst.BaseExpression:
    if numbers:
        return on_device(place, _list([core for core, _ in sides]), Value(kind=Kind.NUMBER))
    tensors = [on_device(place, core, value) for core, value in sides]
    if [value.dtype for _, value in sides] == ["float", "int"]:
        tensors[1] = call_of(tensors[1], "float")  # in a half precision sum's own dtype the count would be rounded
    return cst.Call(cst.Attribute(cst.Name("torch"), cst.Name("stack")), [cst.Arg(_list(tensors))])


def _list(items: list[Any]) -> cst.List:
    return cst.List([cst.Element(item) for item in items])
