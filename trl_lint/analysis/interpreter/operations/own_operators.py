"""Operators of objects whose classes in the project say what they give.

For example, for a class with `def __add__(self, other)`, which returns a new object with the sums of both:

    total = total + info          what `__add__` returns
    total += info                 `__iadd__`, or else `__add__`
    0.9 * total                   `__rmul__`, as a number has no product with it
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import Value

_NAMES: dict[type[cst.CSTNode], str] = {
    cst.Add: "add",
    cst.Subtract: "sub",
    cst.Multiply: "mul",
    cst.Divide: "truediv",
    cst.FloorDivide: "floordiv",
    cst.Modulo: "mod",
    cst.MatrixMultiply: "matmul",
    cst.BitOr: "or",
    cst.BitAnd: "and",
}
_IN_PLACE: dict[type[cst.CSTNode], str] = {
    cst.AddAssign: "add",
    cst.SubtractAssign: "sub",
    cst.MultiplyAssign: "mul",
    cst.DivideAssign: "truediv",
    cst.BitOrAssign: "or",
}


def of_objects(frame: Frame, operator: type[cst.CSTNode], left: Value, right: Value, node: cst.CSTNode) -> Value | None:
    """What the class of one of the operands says of the operation; None if neither does."""
    in_place = _IN_PLACE.get(operator)
    name = in_place or _NAMES.get(operator)
    if name is None:
        return None
    ways = [(left, f"__{name}__", right), (right, f"__r{name}__", left)]
    if in_place:
        ways.insert(0, (left, f"__i{name}__", right))
    for owner, method_name, other in ways:
        if isinstance(owner, ProjectInstance) and (method := owner.cls.find(method_name)) is not None:
            return frame.engine.call(frame, method, Arguments([other]), node, owner)
    return None
