"""Methods of engines of DeepSpeed that run their model: its forward, what it generates, and methods of its own.

For example:

    engine.forward(batch)           as `engine(batch)`
    engine.module(batch)            as a call of the model
    engine.loss_of(batch)           the method of the model
    engine.generate(**batch)        that of the model, whatever its class
    engine.backward(loss)           none of them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.interpreter.calls.model_calls import call_model, call_on_model
from trl_lint.analysis.transfer.models import engine_models
from trl_lint.knowledge.models import FORWARDS, GENERATES, INNER_MODEL

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def call(frame: Frame, engine: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The value of `engine.name(...)`; None if no method of its model is known to run."""
    if name in FORWARDS:
        return call_model(frame, engine_models.model_of(engine), args, node)
    module = engine_models.module_of(engine)
    if name == INNER_MODEL:
        return None if module is None else call_model(frame, module, args, node)
    if module is not None and engine_models.hands_on(engine, name):
        return call_on_model(frame, module, name, args, node)
    return call_on_model(frame, engine_models.model_of(engine), name, args, node) if name in GENERATES else None
