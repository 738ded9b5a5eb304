"""What a condition on data asks for, as far as the function around it does not show it.

outputs = model(x)
if outputs.max() > 9: …             what the wrapped model returns
if self.is_empty(mask): …           numbers, if that method returns `int(mask.sum()) == 0`
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.batch_conditions import CodePlace, is_computed_from, returns_numbers
from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.frame import Frame


def is_on_outputs(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a condition is on what a wrapped model returns."""
    forwards = {id(each.node) for each in frame.sync_points if each.kind == "forward" and each.grad}
    return bool(forwards) and is_computed_from(frame.root, test, lambda part: id(part) in forwards)


def calls_for_numbers(frame: Frame, test: cst.CSTNode) -> frozenset[int]:
    """The calls in a condition, by their ids, of functions of the project that test numbers in what they get."""
    return frozenset(id(call) for call in of_class(test, cst.Call) if _asks_for_numbers(frame, call))


def _asks_for_numbers(frame: Frame, call: cst.Call) -> bool:
    function = function_of(frame, call.func)
    return function is not None and returns_numbers(CodePlace(function.module.tree, function.node))
