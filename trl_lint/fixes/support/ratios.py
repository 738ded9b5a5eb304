"""`(x * m).sum() / m.sum()`: sum both over all ranks, and divide once."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from trl_lint.analysis.program.syntax import used_names
from trl_lint.domain.kinds import NumberValue
from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.support.blocks import torch_in_reach
from trl_lint.fixes.support.collecting import on_device, summed
from trl_lint.fixes.support.edits import NoFix
from trl_lint.fixes.support.logged import Gathered, LogSite, core_of, identifier, is_number, only_binding
from trl_lint.fixes.support.scope import Binding, binders, free_name, is_before, is_pure, may_change_objects
from trl_lint.fixes.support.tree import call_of, in_parentheses, keyword_of, text_of, torch_function, with_replaced


def ratio_of(place: LogSite, node: cst.BaseExpression) -> Gathered | None:
    """The code for `(x * m).sum() / m.sum()` that sums over all ranks and divides once."""
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
    total, imports = summed(place, stacked)
    line = f"{', '.join(names)} = {text_of(total)}"
    replaced = tuple(
        (core, call_of(cst.Name(name), "item") if number else cst.Name(name))
        for (core, _), name, number in zip(sides, names, numbers, strict=True)
    )
    torch = torch_in_reach(place.module, place.root, place.statement)
    if isinstance(torch, NoFix):
        return None
    return Gathered(replaced, any(numbers), imports=(*torch, *imports), lines=(line,))


def _ratio_behind(place: LogSite, name: cst.Name) -> Gathered | None:
    """The same for a name bound to a ratio that is also needed unchanged: its sums are computed again for the log."""
    bound = only_binding(place, name)
    if bound is None or _may_have_changed(place, bound):
        return None
    found = ratio_of(place, bound.value) if isinstance(bound.value, cst.BinaryOperation) else None
    if found is None:
        return None
    quotient = with_replaced(bound.value, found.replaced)
    return replace(found, replaced=((name, quotient if quotient.lpar else in_parentheses(quotient)),))


def _may_have_changed(place: LogSite, bound: Binding) -> bool:
    """Whether computing an assigned expression again may yield another value or have an effect."""
    if not is_pure(bound.value) or may_change_objects(place.root):
        return True
    binding = binders(place.root, used_names(bound.value))
    return not all(is_before(place.root, node, bound.assign) for node in binding)


def _without_floor(node: cst.BaseExpression) -> cst.BaseExpression:
    """`count.clamp(min=1)`, `max(count, 1)`: the count itself; the lower bound is applied after the sum."""
    match node:
        case cst.Call(func=cst.Attribute(value=count, attr=cst.Name("clamp")), args=[arg]):
            return count if keyword_of(arg) in ("", "min") and _is_floor(arg.value) else node
        case cst.Call(func=cst.Attribute(value=count, attr=cst.Name("clamp_min")), args=[arg]):
            return count if _is_floor(arg.value) else node
        case cst.Call(func=cst.Name(value="max"), args=[first, second]):
            return first.value if _is_floor(second.value) else node
        case cst.Call(func=cst.Attribute(value=cst.Name("torch"), attr=cst.Name("clamp")), args=[first, arg]):
            return first.value if keyword_of(arg) in ("", "min") and _is_floor(arg.value) else node
        case cst.BinaryOperation(left=count, operator=cst.Add(), right=right) if _is_floor(right):
            return count
    return node


def _is_floor(node: cst.BaseExpression) -> bool:
    """Whether it is a number up to one: a larger bound is meant for the count of one rank."""
    return isinstance(node, (cst.Integer, cst.Float)) and float(node.value) <= 1


def _stacked(place: LogSite, sides: list[tuple[cst.BaseExpression, Value]], numbers: bool) -> cst.BaseExpression:
    """Sum and count in one tensor, so that one collective sums both."""
    if numbers:
        return on_device(place, _list([core for core, _ in sides]), NumberValue())
    tensors = [on_device(place, core, value) for core, value in sides]
    if [value.dtype for _, value in sides] == ["float", "int"]:
        tensors[1] = call_of(tensors[1], "float")  # the dtype of a half-precision sum would round the count
    return torch_function("stack", cst.Arg(_list(tensors)))


def _list(items: list[cst.BaseExpression]) -> cst.List:
    return cst.List([cst.Element(item) for item in items])
