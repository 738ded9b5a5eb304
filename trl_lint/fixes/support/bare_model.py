"""Read from the bare model instead of the wrapped one: `accelerator.unwrap_model(model)`.

On one process that is the model itself; with an engine of DeepSpeed or FSDP 1, it is the model inside the engine.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import AttributeRead
from trl_lint.analysis.program.syntax import last_name
from trl_lint.domain.model_roles import is_trained
from trl_lint.fixes.support.caching import constructor_call
from trl_lint.fixes.support.scope import bound_targets, contains, dotted
from trl_lint.fixes.support.tree import with_argument

NO_ACCELERATOR = "no `Accelerator` is available here to unwrap the model"
TOO_EARLY = "there is no accelerator yet: `super().__init__` comes later"


def receiver(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The model in `model.x` and `getattr(model, "x")`; None if it is read in another way."""
    match node:
        case cst.Attribute(value=model):
            return model
        case cst.Call(func=cst.Name("getattr"), args=[cst.Arg(value=model, keyword=None, star=""), *_]):
            return model
    return None


def accelerator_of(event: AttributeRead, model: cst.BaseExpression) -> str:
    """The expression for the Accelerator that can unwrap a model; "" if none is available.

    A trainer whose `model_wrapped` is read from elsewhere has one, as in `self.trainer.accelerator`.
    """
    if event.accelerator:
        return event.accelerator
    if not is_trained(event.model) or last_name(model) != "model_wrapped" or not isinstance(model, cst.Attribute):
        return ""
    owner = dotted(model.value)
    return f"{owner}.accelerator" if owner else ""


def is_too_early(event: AttributeRead, accelerator: str, read: cst.CSTNode) -> bool:
    """Whether a read is in an `__init__`, before `self` has its accelerator."""
    owner = event.function
    if owner is None or owner.name != "__init__" or owner.cls is None or not owner.parameters:
        return False
    if accelerator.partition(".")[0] != owner.parameters[0].name:
        return False
    call = constructor_call(owner)
    body = owner.node.body
    for statement in body.body if isinstance(body, cst.BaseSuite) else ():
        if contains(statement, read):
            return True
        if call is not None and statement is call.statement:
            return False
        if any(dotted(target) == accelerator for target in bound_targets(statement)):
            return False
    return True


def read_from_bare(
    node: cst.Attribute | cst.Call, model: cst.BaseExpression, accelerator: str
) -> cst.Attribute | cst.Call:
    """The same read from the bare model."""
    bare = cst.Call(cst.parse_expression(f"{accelerator}.unwrap_model"), [cst.Arg(model)])
    if isinstance(node, cst.Attribute):
        return node.with_changes(value=bare)
    return with_argument(node, node.args[0], bare)
