"""Methods of tensors and of batches."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter import (
    assignment,
    attributes,
    container_methods,
)
from trl_lint.analysis.program.syntax import callee_of
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame, derived
from trl_lint.analysis.transfer import (
    device_steps,
    tensor_shapes,
    tensors,
)
from trl_lint.domain import ranks, shapes
from trl_lint.domain.kinds import (
    NONE,
    BatchRole,
    IterableValue,
    TupleValue,
    role_of,
)
from trl_lint.domain.values import SAME, Kind, Value
from trl_lint.knowledge import torch as torch_table


def call(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of a tensor, or of data whose class is not known."""
    if name in torch_table.STATEMENT_METHODS:
        return NONE
    target = callee_of(node)
    if owner.kind is Kind.BATCH and name == "update" and isinstance(target, cst.Attribute):
        promoted = assignment.as_dict(frame, owner, target.value, node)
        return container_methods.call(frame, promoted, name, args, node)
    if owner.kind is Kind.BATCH and name in ("items", "keys", "values", "get", "pop", "copy", "setdefault"):
        return tensor_shapes.entry(frame, owner, _call_on_batch(owner, name, args), name, args)
    if name in torch_table.IN_PLACE or name in torch_table.IN_PLACE_RANDOM:
        return _in_place(frame, owner, name, args, node)
    if role_of(owner) is BatchRole.OUTPUT and name == "to_tuple":
        return owner
    value = device_steps.located(frame, tensors.method(owner, name, args.positional, args.keywords), node)
    return tensor_shapes.shaped(value, tensor_shapes.of_method(owner, name, args.positional, args.keywords))


def _call_on_batch(owner: Value, name: str, args: Arguments) -> Value:
    element = derived(owner.rank, Kind.BATCH, owner, shape=shapes.FIELD if role_of(owner) is BatchRole.WHOLE else None)
    if name == "items":
        return IterableValue(ranks.SAME, TupleValue(ranks.SAME, (SAME, element)), ranks.SAME)
    if name == "values":
        return IterableValue(ranks.SAME, element, ranks.SAME)
    if name == "keys":
        return SAME
    if name == "copy":
        return owner
    is_loss = name in ("get", "pop") and args.positional and args.positional[0].const == "loss"
    if is_loss and role_of(owner) is not BatchRole.WHOLE:
        return attributes.output_attribute(owner, "loss")
    return element.but(shape=None)


def _in_place(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """`x.add_(y)`: the tensor itself changes."""
    if name in torch_table.IN_PLACE_REPLACING:
        rank = args.rank()
    elif name in torch_table.IN_PLACE_RANDOM:
        rank = ranks.RNG_LOCAL
    elif name in ("add_", "sub_", "subtract_"):
        rank = ranks.combine_linear(owner.rank, args.rank())
    elif name in ("div_", "divide_", "mul_", "multiply_", "true_divide_"):
        rank = ranks.combine_scaling(owner.rank, args.rank())
    else:
        rank = ranks.nonlinear(ranks.combine(owner.rank, args.rank()))
    result = derived(rank, owner.kind, owner, *args.all(), scalar=owner.scalar, dtype=owner.dtype)
    result = tensor_shapes.shaped(result, tensor_shapes.of_in_place(owner, name))
    target = callee_of(node)
    if isinstance(target, cst.Attribute):
        assignment.rebind(frame, target.value, result)
    return result
