"""Numbers that say how many rows this rank's batch has: those that Lightning is given to log, and those of a Trainer.

    self.log("batch_size", len(batch["image"]))
    rows = batch["image"].size(0)
    self.log("rows", rows)
    self._metrics["rewards"].append(len(rewards))        in a Trainer, one for each of its samples

The sampler that Lightning adds gives all ranks as many rows, and loaders cut them into batches of the same sizes. What
is left of a batch, the number of rows of several, and of what is computed from one, may differ.

Accelerate does so for a Trainer, and fills an incomplete last batch with samples from the start (`even_batches`).

Sources: accelerate/data_loader.py `BatchSamplerShard`
lightning/pytorch/trainer/connectors/data_connector.py `_get_distributed_sampler`, torch's `DistributedSampler`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import resolved
from trl_lint.analysis.state.containers import are_rows_ragged, rows_of_full_batches
from trl_lint.domain import ranks
from trl_lint.domain.kinds import BatchRole, role_of
from trl_lint.domain.provenance import RowPerSample, steps
from trl_lint.domain.values import Kind
from trl_lint.knowledge import library

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.ranks import Rank
    from trl_lint.domain.values import Value

_OF_BATCH = frozenset({BatchRole.WHOLE, BatchRole.FIELD})


def rows_in(value: Value) -> Rank | None:
    """The number of rows of what was computed from full batches, or for each sample of a Trainer's; else None.

    Some samples may have been selected where the shape does not show it.
    """
    if not value.rank.differs:
        return None
    is_of_samples = any(isinstance(each, RowPerSample) for each in steps(value.provenance))
    return rows_of_full_batches(value) or (ranks.UNKNOWN if is_of_samples and not are_rows_ragged(value) else None)


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
