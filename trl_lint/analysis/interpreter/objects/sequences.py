"""Models that are used as sequences: `model[0]`, `len(model)`, `for layer in model:`.

Python asks the class for `__getitem__`, `__len__` and `__iter__`, and a wrapper's class has none of them, whatever the
class of the model inside has:

    layers = nn.Sequential(first, second)      layers[0]: the first layer
    layers = DistributedDataParallel(layers)   layers[0]: TypeError, "object is not subscriptable"
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.objects import attributes
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.model_roles import is_data_parallel, is_replicated
from trl_lint.domain.values import Value


def note_used(frame: Frame, value: Value, method: str, expression: cst.CSTNode | None) -> None:
    """Report a wrapped model that is used as a sequence. method: the one that Python looks for."""
    if expression is not None and (is_replicated(value) or is_data_parallel(value)):
        attributes.of_model(frame, value, method, expression, called=True)
