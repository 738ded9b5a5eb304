"""Reductions: which of them may be repeated over the ranks, and how an expression names its own."""

from __future__ import annotations

import libcst as cst

from trl_lint.domain.values import Value
from trl_lint.fixes.support.tree import MethodCall, keyword_of, method_call

# Reductions that commute with gathering, and the method that repeats them on what was gathered.
REPEATED = {
    "sum": "sum", "nansum": "nansum", "mean": "mean", "nanmean": "nanmean", "max": "max", "amax": "amax",
    "min": "min", "amin": "amin", "count": "sum",
}  # fmt: skip
# Methods that take a tensor to the host, or to its memory.
HOST_METHODS = frozenset({"item", "tolist", "cpu", "numpy"})
# Methods that hand a reduced tensor on.
TRANSPARENT = frozenset({"detach", "float", "double", "long", "int", "to", "clone", "cpu", "item", "half", "bfloat16"})


def written_reduction(node: cst.BaseExpression) -> str | None:
    """The reduction an expression ends in; None when it does not end in one."""
    while True:
        method = method_call(node)
        if method is None:
            return None
        if method.name in REPEATED and method.name != "count":
            return method.name if _is_over_all(method) else None
        if method.name not in TRANSPARENT:
            return None
        node = method.receiver


def _is_over_all(reduction: MethodCall) -> bool:
    """Whether `x.sum()` or `torch.sum(x)` is made over all elements."""
    if isinstance(reduction.receiver, cst.Name) and reduction.receiver.value in ("torch", "np", "numpy"):
        return len(reduction.args) == 1
    return not any(keyword_of(arg) in ("", "dim", "axis") for arg in reduction.args)


def needs_cast(value: Value, reduction: str, written: str | None) -> bool:
    """`mean` of integers raises, so what is not known to be a float is made one (`written`: it is a mean already)."""
    return is_mean(reduction) and value.dtype != "float" and not is_mean(written or "")


def is_mean(reduction: str) -> bool:
    return reduction in ("mean", "nanmean")
