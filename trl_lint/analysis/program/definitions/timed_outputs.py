"""What the text of a model's class shows: which parts of the tuple that its forward returns are timings.

For example:

    start = time.time()
    x = self.body(x)
    taken = time.time() - start
    y, inside = self.head(x)
    return y, taken                           2 parts, the second is a timing
    return y, [taken - inside, inside]        the second is: what is taken from a timing is one, too
    return y, [taken, y.mean()]               none is
    return y                                  does not count where two parts are unpacked
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import assignments, last_name, of_class
from trl_lint.knowledge.python import CLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trl_lint.analysis.program.project.classes import ClassInfo

_Values = dict[str, list[cst.BaseExpression]]
# How many names in a row are followed.
_MAX_NAMES = 4


def timed_parts(cls: ClassInfo, count: int) -> Sequence[bool]:
    """For each part of the tuples of this length that a model's forward returns, whether it is a timing in all."""
    return _timed_parts(cls).get(count, ())


@noted_in_file
def _timed_parts(cls: ClassInfo) -> Mapping[int, Sequence[bool]]:
    forward = cls.find("forward")
    if forward is None or not isinstance(forward.node, cst.FunctionDef):
        return {}
    if not any(last_name(each.func) in CLOCKS for each in of_class(forward.node, cst.Call)):
        return {}
    timings = _Timings(forward.node)
    found: dict[int, list[bool]] = {}
    for each in of_class(forward.node, cst.Return):
        if isinstance(each.value, cst.Tuple):
            parts = [timings.has(part.value) for part in each.value.elements]
            before = found.get(len(parts), parts)
            found[len(parts)] = [both[0] and both[1] for both in zip(before, parts, strict=True)]
    return {count: parts for count, parts in found.items() if any(parts)}


class _Timings:
    """The expressions of a function that are differences of clocks."""

    def __init__(self, function: cst.FunctionDef) -> None:
        self._values: _Values = {}
        for target, value in assignments(function):
            if isinstance(target, cst.Name):
                self._values.setdefault(target.value, []).append(value)
        self._taken: set[str] = set()
        self._taken = {
            each.right.value
            for each in of_class(function, cst.BinaryOperation)
            if isinstance(each.operator, cst.Subtract) and isinstance(each.right, cst.Name) and self.has(each.left)
        }

    def has(self, node: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether an expression is a timing, or a list of timings only."""
        match node:
            case cst.Name(value=name):
                values = self._values.get(name, []) if depth < _MAX_NAMES else []
                timed = [self.has(each, depth + 1) for each in values]
                return (bool(timed) and all(timed)) or (name in self._taken and not self._is_clock(node))
            case cst.List(elements=elements) | cst.Tuple(elements=elements):
                return bool(elements) and all(self.has(each.value, depth) for each in elements)
            case cst.BinaryOperation(left=left, operator=cst.Subtract(), right=right) if self._is_clock(left):
                return self._is_clock(right)
            case cst.BinaryOperation(left=left):
                return self.has(left, depth)
        return False

    def _is_clock(self, node: cst.BaseExpression) -> bool:
        """Whether it is the time of a clock: `time.time()`, or a name for that only."""
        values = self._values.get(node.value, []) if isinstance(node, cst.Name) else [node]
        calls = [each.func for each in values if isinstance(each, cst.Call)]
        return len(calls) == len(values) > 0 and all(last_name(each) in CLOCKS for each in calls)
