"""Reductions: which may be repeated over the ranks, and which one an expression ends in."""

from __future__ import annotations

import libcst as cst

from trl_lint.domain.values import Value
from trl_lint.fixes.support.tree import MethodCall, keyword_of, method_call
from trl_lint.knowledge.torch_ops import OPERATIONS, AveragingTransfer, DeviceTransfer, ElementTransfer, of_method

# Reductions that commute with gathering, and the method that repeats them on the gathered tensor: methods, and the one
# kind of reduction in the facts that is not a method.
REPEATED = {row.name: row.name for row in OPERATIONS if row.repeats} | {"count": "sum"}
# What keeps a reduced tensor reduced.
_TRANSPARENT = frozenset(
    {
        ElementTransfer.SAME,
        ElementTransfer.FLOATS,
        ElementTransfer.INTEGERS,
        ElementTransfer.MOVED,
        ElementTransfer.NUMBER,
    }
)
_TO_HOST = frozenset({ElementTransfer.NUMBER, ElementTransfer.NUMBERS})
_HOST_PLACES = frozenset({DeviceTransfer.CPU, DeviceTransfer.HOST})
_MEANS = frozenset({AveragingTransfer.MEAN, AveragingTransfer.MEAN_OF_NUMBERS})


def is_transparent(method: str) -> bool:
    """Whether a method passes a reduced tensor on."""
    return of_method(method).elements in _TRANSPARENT


def goes_to_host(method: str) -> bool:
    """Whether a method moves a tensor to the host or to its memory."""
    row = of_method(method)
    return row.elements in _TO_HOST or row.device in _HOST_PLACES


def written_reduction(node: cst.BaseExpression) -> str | None:
    """The reduction that an expression ends in; None if it does not end in one."""
    while True:
        method = method_call(node)
        if method is None:
            return None
        if of_method(method.name).repeats:
            return method.name if _is_over_all(method) else None
        if not is_transparent(method.name):
            return None
        node = method.receiver


def _is_over_all(reduction: MethodCall) -> bool:
    """Whether `x.sum()` or `torch.sum(x)` is over all elements."""
    if isinstance(reduction.receiver, cst.Name) and reduction.receiver.value in ("torch", "np", "numpy"):
        return len(reduction.args) == 1
    return not any(keyword_of(arg) in ("", "dim", "axis") for arg in reduction.args)


def needs_cast(value: Value, reduction: str, written: str | None) -> bool:
    """Whether to convert to float, because `mean` of integers raises. written: the reduction in the code, if any."""
    return is_mean(reduction) and value.dtype != "float" and not is_mean(written or "")


def is_mean(reduction: str) -> bool:
    return of_method(reduction).averages in _MEANS
