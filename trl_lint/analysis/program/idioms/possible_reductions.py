"""Calls of which nothing is known that may reduce the gradients of a model, or run a backward pass of its own.

average(model), average(model.parameters()), average(optimizer)     they may
parameter.grad = mean(parameter.grad), reducer.reduce()             likewise
exchange([model]), exchange(params), exchange(grads)                likewise
finish(model)                                                       if something that `finish` calls may
clip_grad_norm_(model.parameters(), 1), scaler.unscale_(optimizer)  not
dist.all_reduce(loss)                                               not: the loss is shown
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.hand_reduction import CodeOf
from trl_lint.analysis.program.syntax import holder_name, last_name, names_in, of_class
from trl_lint.knowledge.heuristics import MAY_REDUCE, NAMES_GRADIENTS, OPTIMIZER_OBJECT
from trl_lint.knowledge.models import LEAVE_GRADIENTS
from trl_lint.knowledge.torch import GIVES_PARAMETERS

_GRADIENT = "grad"


def may_reduce(call: cst.Call, model: cst.BaseExpression, code_of: CodeOf) -> bool:
    """Whether a call may reduce gradients by its name, or as it is passed the model, its optimizer, or gradients.

    Or whether something may that the function calls, if its code is known.
    """
    return _may_reduce(call, model, code_of, set())


def _may_reduce(call: cst.Call, model: cst.BaseExpression, code_of: CodeOf, seen: set[int]) -> bool:
    name = last_name(call.func)
    passed = [each.value for each in call.args]
    if MAY_REDUCE.fits(name) and not any("loss" in each for arg in passed for each in names_in(arg)):
        return True
    if name in LEAVE_GRADIENTS:
        return False
    code = code_of(call.func)
    if code is None:
        return any(_gives_gradients(each, model) for each in passed)
    if id(code) in seen:
        return False
    seen.add(id(code))
    return any(_may_reduce(each, model, code_of, seen) for each in of_class(code, cst.Call))


def _gives_gradients(passed: cst.BaseExpression, model: cst.BaseExpression) -> bool:
    name = last_name(passed)
    if passed.deep_equals(model) or OPTIMIZER_OBJECT.fits(name) or NAMES_GRADIENTS.fits(name):
        return True
    if any(each.attr.value == _GRADIENT for each in of_class(passed, cst.Attribute)):
        return True
    match passed:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if name in GIVES_PARAMETERS:
            return holder_name(owner) == holder_name(model)
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            return any(_gives_gradients(each.value, model) for each in elements)
    return False
