"""Numbers that Lightning is given to log and that say how many rows this rank's batch has.

    self.log("batch_size", len(batch["image"]))
    rows = batch["image"].size(0)
    self.log("rows", rows)

The sampler that Lightning adds gives all ranks as many rows, and loaders cut them into batches of the same sizes. What
is left of a batch, the number of rows of several, and of what is computed from one, may differ.

Source: lightning/pytorch/trainer/connectors/data_connector.py `_get_distributed_sampler`, torch's `DistributedSampler`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import resolved
from trl_lint.analysis.state.containers import are_rows_ragged
from trl_lint.domain.kinds import BatchRole, role_of
from trl_lint.domain.values import Kind
from trl_lint.knowledge import library

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

_OF_BATCH = frozenset({BatchRole.WHOLE, BatchRole.FIELD})


def is_alike(frame: Frame, sink: str, logged: Value) -> bool:
    """Whether what is logged is the number of rows of a batch that Lightning has shared out."""
    given = [each.payload.expression for each in logged.writes if each.payload is not None]
    is_known = bool(given) and len(given) == len(logged.writes) and bool(library.reduces(sink))
    return is_known and all(_counts_rows(frame, each) for each in given)


def _counts_rows(frame: Frame, number: cst.CSTNode) -> bool:
    match resolved(frame.root, number) if isinstance(number, cst.Name) else number:
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=rows)]):
            return _is_batch(frame, rows)
        case cst.Call(func=cst.Attribute(value=rows, attr=cst.Name("size")), args=[cst.Arg(value=cst.Integer("0"))]):
            return _is_batch(frame, rows)
        case cst.Subscript(
            value=cst.Attribute(value=rows, attr=cst.Name("shape")),
            slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer("0")))],
        ):
            return _is_batch(frame, rows)
        case cst.Call(func=cst.Name("float" | "int"), args=[cst.Arg(value=inner)]):
            return _counts_rows(frame, inner)
    return False


def _is_batch(frame: Frame, rows: cst.BaseExpression) -> bool:
    value = frame.value_of(rows)
    return value.kind is Kind.BATCH and role_of(value) in _OF_BATCH and not are_rows_ragged(value)
