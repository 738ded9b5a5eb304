"""Reductions: which of them may be repeated over the ranks, and how an expression names its own."""

from __future__ import annotations

from typing import Any

import libcst as cst

from trl_lint.domain.values import Value
from trl_lint.fixes.support.tree import method_call

# Reductions that commute with gathering, and the method that repeats them on what was gathered.
REPEATED = {
    "sum": "sum", "nansum": "nansum", "mean": "mean", "nanmean": "nanmean", "max": "max", "amax": "amax",
    "min": "min", "amin": "amin", "count": "sum",
}  # fmt: skip
# Methods that take a tensor to the host, or to its memory.
HOST_METHODS = frozenset({"item", "tolist", "cpu", "numpy"})
# Methods that hand a reduced tensor on.
TRANSPARENT = frozenset({"detach", "float", "double", "long", "int", "to", "clone", "cpu", "item", "half", "bfloat16"})


def written_reduction(node: Any) -> str | None:
    """The reduction an expression ends in; None when it does not end in one."""
    while True:
        method = method_call(node)
        if method is None:
            return None
        receiver, name = method
        if name in REPEATED and name != "count":
            over = [arg for arg in node.args if arg.keyword is None or arg.keyword.value in ("dim", "axis")]
            if isinstance(receiver, cst.Name) and receiver.value in ("torch", "np", "numpy"):
                return name if len(node.args) == 1 else None
            return name if not over else None
        if name not in TRANSPARENT:
            return None
        node = receiver


def needs_cast(value: Value, reduction: str, written: str | None) -> bool:
    """`mean` of integers raises, so what is not known to be a float is made one (`written`: it is a mean already)."""
    return is_mean(reduction) and value.dtype != "float" and not is_mean(written or "")


def is_mean(reduction: str) -> bool:
    return reduction in ("mean", "nanmean")
