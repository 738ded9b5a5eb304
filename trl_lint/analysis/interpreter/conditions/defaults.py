"""What is made where an argument is not given is what is given otherwise, too.

    self.fabric = fabric or Fabric(devices=8)
    self.accelerator = Accelerator() if accelerator is None else accelerator
    if accelerator is None:
        accelerator = Accelerator()           an Accelerator in all of them, whatever is given

Only classes with one object per process count: nobody gives anything else instead.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import none_test_operand
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.process_starts import ONE_PER_PROCESS


def made_instead(given: Value, made: Value) -> Value | None:
    """What is made instead of an unknown value, if it is the only one of its class in the process."""
    return made if given.kind is Kind.UNKNOWN and library_name_of(made) in ONE_PER_PROCESS else None


def of_choice(choice: cst.IfExp, one: Value, other: Value) -> Value | None:
    """The value of `Accelerator() if given is None else given`, whose branches have these values."""
    tested = none_test_operand(choice.test)
    if tested is None or not any(tested.deep_equals(each) for each in (choice.body, choice.orelse)):
        return None
    return made_instead(one, other) or made_instead(other, one)


def divided(test: cst.BaseExpression, if_true: Mapping[str, Value], if_false: Mapping[str, Value]) -> dict[str, Value]:
    """What is bound after an `if` to the name that it tests, if one of its branches makes what is given otherwise."""
    tested = none_test_operand(test)
    name = tested.value if isinstance(tested, cst.Name) else ""
    if name not in if_true or name not in if_false:
        return {}
    one, other = if_true[name], if_false[name]
    made = made_instead(one, other) or made_instead(other, one)
    return {} if made is None else {name: made}
