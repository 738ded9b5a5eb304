"""Totals that a loop adds up at one place of a buffer, beside other things at its other places.

    counts[0] += errors.sum()
    counts[1] += mask.sum()          a total, of this rank's data
    counts[2] += len(batch)          none, as all ranks have equally many rows
    rate = counts[0] / counts[1]     a mean over a rank-local count

What is known of the buffer is joined from all of its places.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.averaging import TOTAL
from trl_lint.domain.values import Kind, Value


def of_place(frame: Frame, buffer: Value, node: cst.Subscript, result: Value) -> Value:
    """An element of a buffer, with the fact of what has been added up there, if it has none of its own."""
    if buffer.kind is not Kind.TENSOR or result.averaging is not None or not _is_constant_place(node):
        return result
    added = [
        each.value
        for each in of_class(frame.root, cst.AugAssign)
        if isinstance(each.operator, cst.AddAssign) and each.target.deep_equals(node)
    ]
    return result.replace(averaging=TOTAL) if added and all(_is_total(frame, each) for each in added) else result


def _is_constant_place(node: cst.Subscript) -> bool:
    match node:
        case cst.Subscript(value=cst.Name(), slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer()))]):
            return True
    return False


def _is_total(frame: Frame, added: cst.BaseExpression) -> bool:
    value = frame.known_value(added)
    return value is not None and value.averaging is not None and value.averaging.total
