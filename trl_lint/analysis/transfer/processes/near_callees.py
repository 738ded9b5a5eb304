"""The functions of the project that `near_reductions` looks into for a reduction.

def show(loss):
    loss = average(loss)          `average`, if a function of the project has this name here
    print(loss)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.named_functions import function_named
from trl_lint.analysis.program.idioms.near_reductions import Caller

if TYPE_CHECKING:
    import libcst as cst


def called(caller: Caller, callee: cst.BaseExpression) -> Caller | None:
    """The function of the project that a call in another one names; None if there is none."""
    found = function_named(caller.module, caller.function, callee)
    return None if found is None else Caller(found.module, found)
