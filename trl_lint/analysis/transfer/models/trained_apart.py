"""Models that each rank trains on its own, because `prepare` was passed a dict of them, which it returns unchanged.

For example:

    nets = accelerator.prepare({"g": g, "d": d})    the dict: BARE, as nothing in it is wrapped
    accelerator.backward(loss)                      reduces nothing: no rank waits for another
    net = accelerator.prepare(g)                    once such a model is reachable, gradients may be reduced
"""

from __future__ import annotations

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import PreparedObject, class_name_of
from trl_lint.domain.model_roles import is_data_parallel, wrapping_of
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge.python import DICTS_OF_ATTRIBUTES

_HOLDERS = frozenset({Kind.CONTAINER, Kind.INSTANCE})


def holds_models(frame: Frame, value: Value) -> bool:
    """Whether a value is a dict or list with a model in it, or an object of a class used as a dict of them."""
    if value.kind is Kind.CONTAINER:
        return any(map(is_model, frame.memory.contents(value)))
    return class_name_of(value) in DICTS_OF_ATTRIBUTES


def is_model(value: Value) -> bool:
    """Whether a value is a model that no wrapper of all ranks is around, or a layer of torch."""
    if value.kind is Kind.MODEL:
        return value.wrapping is not Wrapping.WRAPPED or is_data_parallel(value)
    return class_name_of(value).startswith("torch.nn.")


def are_trained_unwrapped(frame: Frame) -> bool:
    """Whether reachable models were prepared without effect, and none may have a wrapper."""
    found = False
    for value in frame.reachable_values():
        if isinstance(value, PreparedObject) or _may_be_wrapped(value):
            return False
        found |= value.kind in _HOLDERS and value.wrapping is Wrapping.BARE
    return found


def _may_be_wrapped(value: Value) -> bool:
    return wrapping_of(value) in _NOT_BARE and not is_data_parallel(value)


_NOT_BARE = frozenset({Wrapping.MAYBE, Wrapping.UNKNOWN, Wrapping.WRAPPED})
