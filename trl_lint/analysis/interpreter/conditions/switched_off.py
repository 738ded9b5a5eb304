"""A flag that is switched off wherever it is on: after that, it is off.

if world_size > 1 and online:
    online = False          whatever it was, it is False from here on: there are several ranks
if online:
    step(model.module)      never run
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import truth
from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.heap import Memory
from trl_lint.domain.values import Value


def off_after(frame: Frame, node: cst.If, taken: Memory) -> dict[str, Value]:
    """The flags that an `if` leaves off, both where its branch is run, which ends in this state, and where it is not.

    All other parts of its test are known to hold.
    """
    if node.orelse is not None:
        return {}
    open_parts = [each for each in parts_of(node.test) if truth(frame, frame.value_of(each)) is not True]
    if len(open_parts) != 1 or not isinstance(open_parts[0], cst.Name):
        return {}
    flag = open_parts[0].value
    value = taken.names.get(flag)
    return {flag: value} if value is not None and value.const is False else {}
