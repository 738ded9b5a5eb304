"""The fix for a forward of the module inside a wrapper: call the wrapped model, if a name for it is available."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import ModelCalled
from trl_lint.analysis.program.syntax import below, last_name, self_attribute
from trl_lint.domain.control import Uniformity
from trl_lint.domain.model_roles import is_trained
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import own_line
from trl_lint.fixes.support.edits import Drop, FixPlan, NoFix, Replace
from trl_lint.fixes.support.node_types import Scope
from trl_lint.fixes.support.scope import (
    Binding,
    binders,
    bound_targets,
    dotted,
    is_before,
    names_spelled,
    scope_of,
    sole_binding,
)
from trl_lint.fixes.support.tree import has_comment
from trl_lint.knowledge import models
from trl_lint.knowledge.library import UNWRAPS

_PART = "a part of the model is called, and the code does not show how the wrapper's forward should run it"
_NO_NAME = "the wrapped model has no name here"
_CHANGES_TRAINING = "it changes what is trained: gradients are synchronised from then on"
_COMMENTED = "a comment is on the line that unwraps the model, which would be removed"


class BypassedWrapperFix(RuleFix[ModelCalled]):
    title = "Call the wrapped model"
    communication = "the wrapper's forward communicates"
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: ModelCalled) -> FixPlan | NoFix:
        """The plan to call the wrapped model instead, or why that is left to the author."""
        if event.path or not isinstance(event.node, cst.Call):
            return NoFix(_PART)
        callee = event.given or _callee(event.node)
        root = scope_of(event.function, event.module)
        wrapped = _wrapped_name(event, root, callee)
        if wrapped is None:
            return NoFix(_NO_NAME if _is_whole(root, callee) else _PART)
        drop = _drop_binding_of(root, callee)
        if isinstance(drop, NoFix):
            return drop
        replaced = event.given or event.node.func
        return FixPlan((Replace(replaced, wrapped), *drop), caution=_CHANGES_TRAINING)

    def uniformity(self, event: ModelCalled) -> Uniformity:
        """All ranks run a training step, unless it is known that they do not."""
        found = event.control.uniformity
        return found if found is Uniformity.DIVERGENT else Uniformity.UNIFORM


def _wrapped_name(event: ModelCalled, root: Scope, callee: cst.BaseExpression) -> cst.BaseExpression | None:
    """The name of the wrapped model that contains the called one, or its attribute of `self`."""
    known = dict(event.names)
    bound = sole_binding(root, callee)
    source = callee if bound is None else bound.value
    holder = _wrapped_operand(source)
    if holder is not None:
        is_wrapped = dotted(holder) in known or self_attribute(holder) in event.attributes
        is_wrapped |= event.model.provenance is not None and event.model.provenance.node is source
        return holder.deep_clone() if is_wrapped and _is_the_same_since(root, holder, bound) else None
    if dotted(source) == "self.model" and is_trained(event.model):
        names = [name for name, value in known.items() if is_trained(value) and not binders(root, [name])]
        return cst.Name(names[0]) if len(names) == 1 else None
    return None


def _is_the_same_since(root: Scope, holder: cst.BaseExpression, bound: Binding | None) -> bool:
    """Whether nothing binds a wrapped model anew once the module in it has been bound to a name.

    bound: None if the module has no name, so that the place that calls it names the wrapped model as well.
    """
    if bound is None:
        return True
    again = (each for each in bound_targets(root) if dotted(each) == dotted(holder))
    return all(is_before(root, each, bound.assign) for each in again)


def _drop_binding_of(root: Scope, callee: cst.BaseExpression) -> tuple[Drop, ...] | NoFix:
    """The edit that removes the line binding the inner module to a name, if nothing else needs the name."""
    bound = sole_binding(root, callee)
    line = None if bound is None else own_line(root, bound.assign)
    if bound is None or line is None or not _is_only_called(root, bound.name, callee):
        return ()
    if has_comment(line.statement):
        return NoFix(_COMMENTED, help=f"call the wrapped model, and remove `{bound.name.value}`")
    # Other files may import names that a module binds.
    may_go = isinstance(root, cst.FunctionDef) and len(line.siblings) > 1
    return (Drop(line.statement, bound.name.value, root),) if may_go else ()


def _is_only_called(root: Scope, name: cst.Name, used: cst.BaseExpression) -> bool:
    """Whether a name is, but for this use, only ever called, so that it is unused once others are called instead."""
    spelled = [each for each in names_spelled(root, name.value) if each is not name]
    callees = {id(_callee(node)) for node in below(root) if isinstance(node, cst.Call)}
    return all(id(each) in callees or each is used for each in spelled)


def _callee(call: cst.Call) -> cst.BaseExpression:
    """The object that is called, in `model(…)` and in `model.forward(…)`."""
    callee = call.func
    if isinstance(callee, cst.Attribute) and callee.attr.value in models.FORWARDS:
        return callee.value
    return callee


def _source(root: Scope, callee: cst.BaseExpression) -> cst.BaseExpression:
    """The expression that a name is bound to, if it is bound once; otherwise the expression itself."""
    bound = sole_binding(root, callee)
    return callee if bound is None else bound.value


def _wrapped_operand(source: cst.BaseExpression) -> cst.BaseExpression | None:
    """The `model` in `accelerator.unwrap_model(model)` and in `model.module`."""
    match source:
        case cst.Call(func=func, args=[cst.Arg(value=holder, star=""), *_]) if last_name(func) in UNWRAPS:
            pass
        case cst.Attribute(value=holder, attr=cst.Name(models.INNER_MODEL)):
            pass
        case _:
            return None
    return holder if isinstance(holder, cst.Name) or self_attribute(holder) else None


def _is_whole(root: Scope, callee: cst.BaseExpression) -> bool:
    """Whether the called object may be a whole model, and not a part of one."""
    source = _source(root, callee)
    is_named_so = last_name(source) in ("model", models.INNER_MODEL)
    return is_named_so or _wrapped_operand(source) is not None or isinstance(source, cst.Name)
