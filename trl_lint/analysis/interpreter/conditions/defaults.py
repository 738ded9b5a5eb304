"""What is made where an argument is not given is what is given otherwise, too.

    self.fabric = fabric or Fabric(devices=8)
    self.accelerator = Accelerator() if accelerator is None else accelerator
    if accelerator is None:
        accelerator = Accelerator()           an Accelerator in all of them, whatever is given

Only classes with one object per process count: nobody gives anything else instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import none_test_operand
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.process_starts import ONE_PER_PROCESS

_Key = TypeVar("_Key")


def made_instead(given: Value, made: Value) -> Value | None:
    """What is made instead of an unknown value, if it is the only one of its class in the process."""
    return made if given.kind is Kind.UNKNOWN and library_name_of(made) in ONE_PER_PROCESS else None


def of_choice(test: cst.BaseExpression, one: Value, other: Value) -> Value | None:
    """The value of a choice by whether something is None, if one of both is made instead of the other."""
    if none_test_operand(test) is None:
        return None
    return made_instead(one, other) or made_instead(other, one)


def divided(
    test: cst.BaseExpression, if_true: Mapping[_Key, Value], if_false: Mapping[_Key, Value]
) -> dict[_Key, Value]:
    """What is bound after an `if` to what one of its branches has made instead of what the other has."""
    if none_test_operand(test) is None:
        return {}
    pairs = ((key, value, if_false.get(key, value)) for key, value in if_true.items())
    found = ((key, of_choice(test, one, other)) for key, one, other in pairs if one is not other)
    return {key: value for key, value in found if value is not None}
