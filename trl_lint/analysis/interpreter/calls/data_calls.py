"""Methods of tensors and of batches."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.calls import container_methods
from trl_lint.analysis.interpreter.conditions import chosen_texts
from trl_lint.analysis.interpreter.objects import assignment, kept_tensors, model_outputs
from trl_lint.analysis.program.syntax import callee_of
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors import tensors
from trl_lint.domain import ranks, shapes
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import NONE, BatchRole, IterableValue, TupleValue, role_of
from trl_lint.domain.values import SAME, Kind, Value
from trl_lint.knowledge import torch_ops
from trl_lint.knowledge.models import BATCH_FLAGS
from trl_lint.knowledge.torch_ops import Operation, RankTransfer


def call(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of a tensor, or of data of unknown class."""
    if (chosen := chosen_texts.begins(frame, receiver, name, args.positional)) is not None:
        return chosen
    row = torch_ops.of_method(name)
    if row.rank is RankTransfer.NOTHING:
        return NONE
    target = callee_of(node)
    if receiver.kind is Kind.BATCH and name == "update" and isinstance(target, cst.Attribute):
        promoted = assignment.as_dict(frame, receiver, target.value, node)
        return container_methods.call(frame, promoted, name, args, node)
    if receiver.kind is Kind.BATCH and name in ("items", "keys", "values", "get", "pop", "copy", "setdefault"):
        value = _call_on_batch(frame, receiver, name, args)
        for refine_entry in frame.domains.entry:
            value = refine_entry(frame, receiver, name, args, value)
        return value
    if row.in_place is not None:
        return _in_place(frame, receiver, row, args, node)
    if role_of(receiver) is BatchRole.OUTPUT and name == "to_tuple":
        return receiver
    value = tensors.method(row, receiver, args.positional, args.keywords)
    for refine in frame.domains.tensor_method:
        value = refine(frame, row, receiver, args, node, value)
    return value


def _call_on_batch(frame: Frame, receiver: Value, name: str, args: Arguments) -> Value:
    element = derived(
        receiver.rank,
        Kind.BATCH,
        receiver,
        shape=shapes.of_fields(receiver.shape) if role_of(receiver) is BatchRole.WHOLE else None,
    )
    if name == "items":
        return IterableValue(ranks.SAME, TupleValue(ranks.SAME, (SAME, element)), ranks.SAME)
    if name == "values":
        return IterableValue(ranks.SAME, element, ranks.SAME)
    if name == "keys":
        return SAME
    if name == "copy":
        return receiver
    if args.positional and args.positional[0].const in BATCH_FLAGS:
        return SAME
    known = None
    if name in ("get", "pop") and args.positional and role_of(receiver) is not BatchRole.WHOLE:
        known = model_outputs.entry(frame, receiver, args.positional[0].const)
    return element.replace(shape=None) if known is None else known


def _in_place(frame: Frame, receiver: Value, row: Operation, args: Arguments, node: cst.CSTNode) -> Value:
    """Update a tensor that its method changes in place: `x.add_(y)`."""
    result = tensors.in_place(row, receiver, args)
    for refine in frame.domains.in_place:
        result = refine(frame, row, receiver, result)
    target = callee_of(node)
    if isinstance(target, cst.Attribute):
        assignment.rebind(frame, target.value, result)
        kept_tensors.changed_in_place(frame, target.value, receiver)
    return result
