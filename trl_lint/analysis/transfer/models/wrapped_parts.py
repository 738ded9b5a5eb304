"""Models of which code wraps a part from outside: whoever runs the model runs the wrapper in it.

For example:

    model.unet = FSDP(model.unet)
    model(x)                            runs the wrapper, if `forward` calls `self.unet(…)`
    model.loss_of(x)                    so does this, if `loss_of` or what it calls on `self` does so
    model.decode(x)                     does not, if it only calls other parts
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.definitions import call_order
from trl_lint.analysis.program.definitions.objects import ProjectModel
from trl_lint.analysis.program.syntax import of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.model_roles import is_data_parallel, is_sharded
from trl_lint.domain.values import Value, Wrapping

_FORWARD = "forward"


class WrappedParts:
    """By the name of a variable, the wrappers that a run has put into attributes of the model there."""

    def __init__(self) -> None:
        self.of_name: dict[str, dict[str, Value]] = {}


def note(frame: Frame, target: cst.BaseExpression, value: Value) -> None:
    """`model.unet = FSDP(model.unet)`"""
    match target:
        case cst.Attribute(value=cst.Name(name), attr=cst.Name(part)) if _is_wrapper(value):
            frame.notes.of(WrappedParts).of_name.setdefault(name, {})[part] = value


def run_by(frame: Frame, model: Value, node: cst.CSTNode, method: str = _FORWARD) -> Iterator[Value]:
    """The wrappers in a model that a call of it, or of one of its methods, runs."""
    called = node.func if isinstance(node, cst.Call) else None
    owner = called.value if isinstance(called, cst.Attribute) and called.attr.value == method else called
    parts = frame.notes.of(WrappedParts).of_name.get(owner.value, {}) if isinstance(owner, cst.Name) else {}
    if parts and isinstance(model, ProjectModel):
        methods = call_order.methods_run_by(model.cls, method)
        run = {self_attribute(call.func) for each in methods for call in of_class(each.node, cst.Call)}
        yield from (value for name, value in parts.items() if name in run)


def _is_wrapper(value: Value) -> bool:
    return is_sharded(value) or (value.wrapping is Wrapping.WRAPPED and not is_data_parallel(value))
