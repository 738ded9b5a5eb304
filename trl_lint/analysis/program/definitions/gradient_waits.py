"""Whether a call makes DistributedDataParallel so that it waits for the gradients of all parameters.

For example:

    DDP(model, device_ids=[rank])                      waits
    DDPStrategy(find_unused_parameters=False)          waits
    DDP(model, find_unused_parameters=True)            searches the graph of each step for those without one
    DDP(model, static_graph=True)                      notes those of the first step
    DDP(model, **options)                              who knows
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import libcst as cst

from trl_lint.knowledge.trained_layers import ALLOWS_UNUSED, FINDS_UNUSED, PLACES_BEFORE_IT

_Test: TypeAlias = Callable[[cst.BaseExpression], bool]


def is_written_false(option: cst.BaseExpression) -> bool:
    return isinstance(option, cst.Name) and option.value == "False"


def waits_for_all(call: cst.CSTNode, is_off: _Test = is_written_false) -> bool:
    """Whether a call waits for all gradients. is_off: whether what the search is set to is False."""
    if not isinstance(call, cst.Call) or any(each.star for each in call.args):
        return False
    options = {each.keyword.value: each.value for each in call.args if each.keyword is not None}
    if not ALLOWS_UNUSED.isdisjoint(options) or len(call.args) - len(options) > PLACES_BEFORE_IT:
        return False
    return FINDS_UNUSED not in options or is_off(options[FINDS_UNUSED])
