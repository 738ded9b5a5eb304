"""Expressions that combine a value of all ranks: by the user's own helper, otherwise by the accelerator."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.transfer.tensors.tensor_devices import may_be_cpu
from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.support.edits import Import
from trl_lint.fixes.support.importing import has_place
from trl_lint.fixes.support.logged import LogSite, is_number
from trl_lint.fixes.support.reductions import needs_cast
from trl_lint.fixes.support.tree import (
    call_of,
    goes_to_cpu,
    keyword_argument,
    method_call,
    tensor_of,
    with_replaced,
    without_parentheses,
)


def collected(
    place: LogSite, tensor: cst.BaseExpression, reduction: str
) -> tuple[cst.BaseExpression, tuple[Import, ...]] | None:
    """The tensor reduced over the ranks, by the user's own helper if there is one, and the imports it needs."""
    for wanted, repeated in ((reduction, ""), ("gather", reduction)):
        for text, name, reduces_by in place.payload.reducers:
            if reduces_by == wanted and (imports := _import_of(place, text, name)) is not None:
                call = cst.Call(cst.parse_expression(text), [cst.Arg(tensor)])
                return (call_of(call, repeated) if repeated else call), imports
    if not place.payload.accelerator:
        return None
    return call_of(call_of(place.accelerator, "gather", cst.Arg(tensor)), reduction), ()


def summed(place: LogSite, stacked: cst.BaseExpression) -> tuple[cst.BaseExpression, tuple[Import, ...]]:
    """Several sums in one tensor, summed over the ranks element by element."""
    for text, name, reduces_by in place.payload.reducers:
        if reduces_by == "sum" and (imports := _import_of(place, text, name)) is not None:
            return cst.Call(cst.parse_expression(text), [cst.Arg(stacked)]), imports
    how = keyword_argument("reduction", cst.SimpleString('"sum"'))
    return call_of(place.accelerator, "reduce", cst.Arg(stacked), how), ()


def _import_of(place: LogSite, text: str, name: str) -> tuple[Import, ...] | None:
    """The import that makes a helper callable by its own name in this file; None if there is no place for it."""
    module, _, function = name.rpartition(".")
    if text != function or module == place.module.name:
        return ()
    needed = Import(module, function)
    return (needed,) if has_place(place.module, needed, place.statement) else None


def before_cpu(place: LogSite, core: cst.BaseExpression) -> cst.BaseExpression:
    """The expression without its `.cpu()`: the tensor is gathered on the device where it was."""
    return _with_moves(place, core, None)


def before_numpy(place: LogSite, core: cst.BaseExpression) -> cst.BaseExpression | None:
    """The tensor `x.detach().mean()` for `x.detach().cpu().numpy().mean()`; None for any other expression.

    It is where the accelerator gathers it. NumPy takes the mean of integers, too.
    """
    reduction = method_call(core)
    array = None if reduction is None or reduction.args else method_call(reduction.receiver)
    if reduction is None or array is None or array.name != "numpy" or array.args:
        return None
    moved = method_call(array.receiver)
    if moved is None or moved.name != "cpu":
        return None  # it is on the CPU anyway
    tensor = moved.receiver
    value = place.value_of(tensor)
    if value is None or value.kind not in (Kind.BATCH, Kind.TENSOR) or is_number(value) or may_be_cpu(value):
        return None
    if needs_cast(value, reduction.name, None):
        tensor = call_of(tensor, "float")
    return call_of(tensor, reduction.name)


def on_device(place: LogSite, core: cst.BaseExpression, value: Value) -> cst.BaseExpression:
    """The tensor to gather, on the accelerator's device."""
    if not is_number(value) and not may_be_cpu(value):
        return without_parentheses(core)
    device = cst.Attribute(place.accelerator, cst.Name("device"))
    if is_number(value):
        return tensor_of(without_parentheses(core), device)
    kept = _with_moves(place, core, device)
    tensor = without_parentheses(kept)
    return call_of(tensor, "to", cst.Arg(device)) if kept is core else tensor


def _with_moves(place: LogSite, core: cst.BaseExpression, device: cst.BaseExpression | None) -> cst.BaseExpression:
    """The expression without its move to the CPU; a tensor that may have been there before is moved to the device.

    device: None to leave such a tensor where it is.
    """
    node = core
    while (method := method_call(node)) is not None:
        is_move = method.name == "cpu" or (method.name == "to" and goes_to_cpu(method.args))
        source = place.value_of(method.receiver) if is_move else None
        if source is not None and not is_number(source):
            if not may_be_cpu(source):
                return with_replaced(core, ((node, method.receiver),))
            if device is not None:
                return with_replaced(core, ((node, call_of(method.receiver, "to", cst.Arg(device))),))
        node = method.receiver
    return core
