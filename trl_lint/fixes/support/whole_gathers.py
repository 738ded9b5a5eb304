"""`gather` instead of `gather_for_metrics`, for values that are not one per sample."""

from __future__ import annotations

import libcst as cst

from trl_lint.fixes.support.edits import NoFix


def of_all_ranks(call: cst.Call) -> cst.Call | NoFix:
    """The call that gathers the values of all ranks, or why none can be written."""
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="gather_for_metrics")) as func, args=[arg]):
            pass
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="gather_for_metrics"))):
            return NoFix("`gather` does not take these arguments")
        case _:
            return NoFix("the function is called under another name")
    if arg.star:
        return NoFix("the arguments are starred")
    args = [arg if arg.keyword is None else arg.with_changes(keyword=cst.Name("tensor"))]
    return call.with_changes(func=func.with_changes(attr=cst.Name("gather")), args=args)
