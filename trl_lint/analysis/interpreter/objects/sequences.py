"""Models that are used as sequences: `model[0]`, `len(model)`, `for layer in model:`.

Python asks the class for `__getitem__`, `__len__` and `__iter__`, and a wrapper's class has none of them, whatever the
class of the model inside has:

    layers = nn.Sequential(first, second)      layers[0]: the first layer
    layers = DistributedDataParallel(layers)   layers[0]: TypeError, "object is not subscriptable"
    self.models[task]                          not known: an attribute may be a dict of models in another object
    for key in models: models[key].eval()      not known: a dict of models, which another caller passes; no bare model
                                               can be used so either
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.objects import attributes
from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.model_roles import is_data_parallel, is_replicated
from trl_lint.domain.values import UNKNOWN, Value, Wrapping


def used(frame: Frame, value: Value, method: str, expression: cst.CSTNode | None) -> Value:
    """Report a wrapped model in a variable that is used as a sequence. method: the one that Python looks for.

    Returns what has the elements: nothing is known of those of a wrapper, which has none. If a model may be bare, they
    are those of the bare one.
    """
    if not (isinstance(expression, cst.Name) and (is_replicated(value) or is_data_parallel(value))):
        return value
    attributes.of_model(frame, value, method, expression, called=True)
    if value.wrapping is Wrapping.MAYBE:
        return value.replace(wrapping=Wrapping.BARE)
    return UNKNOWN if value.wrapping is Wrapping.WRAPPED else value


def iterated(frame: Frame, value: Value, loop: cst.For) -> Value:
    """The same for one that a loop goes over, unless the loop takes its items for keys."""
    return value if _gives_keys(loop) else used(frame, value, "__iter__", loop.iter)


def _gives_keys(loop: cst.For) -> bool:
    """Whether the body asks what the loop goes over for the item of each turn: `for key in x: x[key]`."""
    return any(
        each.value.deep_equals(loop.iter)
        and len(each.slice) == 1
        and isinstance(index := each.slice[0].slice, cst.Index)
        and index.value.deep_equals(loop.target)
        for each in of_class(loop.body, cst.Subscript)
    )
