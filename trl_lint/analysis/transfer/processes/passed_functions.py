"""Functions that unknown code is passed, and may call: whether ranks may meet others in them.

For example:

    scheduler.run(lambda: dist.barrier())        a collective in the function itself
    if rank == 0:
        study.optimize(objective, n_trials=9)    `objective` trains, as it does on the other ranks
    else:
        for _ in range(9): objective(None)
    study.optimize(lambda trial: tune(TorchDistributedTrial(trial)))         ranks meet where such an object is made
    study.optimize(lambda trial: search(trial))                              or in what the lambda calls
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import are_in_opposite_branches
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.analysis.state.callees import function_in, function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import Value
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import Class, Collective, Row


def _meets_others(row: Row) -> bool:
    return isinstance(row, Collective) or (isinstance(row, Class) and row.synchronises is not None)


# The names of collectives, and of classes whose objects all ranks make, without their module, except one that dicts
# have as well.
_NAMES = frozenset(row.name.rpartition(".")[2] for row in library.ROWS if _meets_others(row))
_COLLECTIVES = _NAMES - {"update"}


def may_meet_others(frame: Frame, value: Value, node: cst.CSTNode) -> str:
    """The name of the function that an argument of a call is, if ranks may meet others in it; "" otherwise."""
    function = function_in(value)
    if function is None:
        return ""
    called = _called_in(function)
    further = _called_by_lambda(frame, function)
    is_meant = not _COLLECTIVES.isdisjoint(called | further) or _is_called_instead(frame, function, called, node)
    return function.name if is_meant else ""


def _called_in(function: FunctionInfo) -> set[str]:
    return {last_name(call.func) for call in of_class(function.node, cst.Call)}


def _called_by_lambda(frame: Frame, function: FunctionInfo) -> set[str]:
    """The names of what the functions call that a lambda calls."""
    calls = of_class(function.node, cst.Call) if isinstance(function.node, cst.Lambda) else ()
    run = (function_of(frame, call.func) for call in calls)
    return {name for each in run if each is not None for name in _called_in(each)}


def _is_called_instead(frame: Frame, function: FunctionInfo, called: set[str], node: cst.CSTNode) -> bool:
    """Whether ranks in the other branch of a condition call the function themselves, or for a lambda what it calls."""
    names = called if isinstance(function.node, cst.Lambda) else {function.name}
    return any(
        last_name(call.func) in names and are_in_opposite_branches(frame.root, node, call)
        for call in of_class(frame.root, cst.Call)
    )
