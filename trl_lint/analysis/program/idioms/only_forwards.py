"""A method of the wrapped module that is the only forward pass: its result is trained with.

    losses = self.model.module.training_losses(batch)
    losses["loss"].backward()                             and nowhere in the class is `self.model(…)` called

For a model whose class has no available source, nothing else shows that one of its methods runs the model.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.result_uses import targets_of
from trl_lint.analysis.program.syntax import below, last_name, names_in, of_class, used_names
from trl_lint.knowledge.models import INNER_MODEL

_BACKWARD = "backward"
# Last parts of the names of unwrapping functions; the caller has checked that they are Accelerate's or Transformers'.
_UNWRAPS = frozenset({"extract_model_from_parallel", "unwrap_model"})


def is_only_forward(root: cst.CSTNode, around: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether a backward pass starts from the result of `model.module.method(…)`, and nothing calls `model`.

    The module may have a name, `inner = model.module`, or come from a method of the class, `self.bare_model()`.

    root: the function (or module) of the call. around: its class, or else its module, in which nothing may call the
    wrapper.
    """
    match call:
        case cst.Call(func=cst.Attribute(value=receiver)):
            wrappers = [*_wrappers(root, receiver), *_wrappers_of_helper(around, receiver)]
            is_called = any(each.func.deep_equals(one) for each in of_class(around, cst.Call) for one in wrappers)
            return bool(wrappers) and not is_called and _is_trained_with(root, around, call)
    return False


def _wrappers(
    root: cst.CSTNode, inner: cst.BaseExpression, names: frozenset[str] = frozenset()
) -> Iterator[cst.BaseExpression]:
    """The wrapper from which a module is taken: `model` of `model.module`, `unwrap_model(model)`, or a name of it.

    names: those that are being followed; `model = model._orig_mod if is_compiled(model) else model` leads back to one.
    """
    match inner:
        case cst.Attribute(value=wrapper, attr=cst.Name(name)) if name == INNER_MODEL:
            yield wrapper
        case cst.Call(func=maker, args=[cst.Arg(value=wrapper), *_]) if last_name(maker) in _UNWRAPS:
            yield wrapper
        case cst.IfExp(body=one, orelse=other):
            yield from (*_wrappers(root, one, names), *_wrappers(root, other, names))
        case cst.Name(name) if name not in names:
            for each in of_class(root, cst.Assign):
                if any(name == last_name(target.target) for target in each.targets):
                    yield from () if isinstance(each.value, cst.Name) else _wrappers(root, each.value, names | {name})


def _wrappers_of_helper(around: cst.CSTNode, inner: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The wrapper from which a method without arguments takes the module: `self.model` of `self.bare_model()`."""
    match inner:
        case cst.Call(func=cst.Attribute(value=cst.Name("self"), attr=cst.Name(name)), args=[]):
            for method in of_class(around, cst.FunctionDef):
                if method.name.value == name:
                    for returned in of_class(method, cst.Return):
                        yield from () if returned.value is None else _wrappers(method, returned.value)


def _is_trained_with(root: cst.CSTNode, around: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether a backward pass starts from a result, here or in a function that calls this one."""
    is_started, is_returned = _fate_of(root, call)
    if is_started or not (is_returned and isinstance(root, cst.FunctionDef)):
        return is_started
    callers = (each for each in of_class(around, cst.FunctionDef) if each is not root)
    return any(
        last_name(outer_call.func) == root.name.value and _fate_of(caller, outer_call)[0]
        for caller in callers
        for outer_call in of_class(caller, cst.Call)
    )


def _fate_of(root: cst.CSTNode, call: cst.CSTNode) -> tuple[bool, bool]:
    """Whether a backward pass starts from something computed from a result, and whether that is returned."""
    derived: set[str] = set()
    is_returned = False
    for statement in of_class(root, cst.SimpleStatementLine):
        small = statement.body[0]
        starts = (each for each in of_class(small, cst.Call) if last_name(each.func) == _BACKWARD)
        if any(derived & used_names(each) for each in starts):
            return True, is_returned
        value = getattr(small, "value", None)
        if value is None or not (any(each is call for each in below(statement)) or derived & used_names(value)):
            continue
        if isinstance(small, cst.Return):
            is_returned = True
        elif isinstance(small, (cst.Assign, cst.AugAssign)):
            bound = targets_of(small) if isinstance(small, cst.Assign) else names_in(small.target)
            derived |= bound - {"self"}
    return False, is_returned
