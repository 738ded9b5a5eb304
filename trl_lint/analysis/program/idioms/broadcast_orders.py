"""Orders: one rank decides what comes next, and the others loop over a broadcast that delivers its orders.

For example:

    def closure():
        if rank == 0:
        dist.broadcast(signal, src=0)     an order to the others to run this closure as well
        ...
    if rank == 0:
        optimizer.step(closure)
    else:
        while signal.item():
            dist.broadcast(signal, src=0)     here they wait for it
            closure()
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import last_name, of_class


def are_awaited(root: cst.CSTNode, test: cst.CSTNode, is_true: bool, call: cst.CSTNode) -> bool:
    """Whether the ranks in the other branch of a test wait for a call in a `while` loop there."""
    if not isinstance(call, cst.Call):
        return False
    others = (
        branch.orelse if is_true else branch.body for branch in of_class(root, cst.If) if branch.test.deep_equals(test)
    )
    loops = (loop for arm in others if arm is not None for loop in of_class(arm, cst.While))
    return any(last_name(each.func) == last_name(call.func) for loop in loops for each in of_class(loop.body, cst.Call))
