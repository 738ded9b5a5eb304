"""A method of the wrapped module that is the only forward pass: its result is trained with.

    losses = self.model.module.training_losses(batch)
    losses["loss"].backward()                             and nowhere in the class is `self.model(…)` called

    x = self.model.module.normalize(x)
    self.loss(self.model, x).backward()                   none: what gets both may run the wrapper

    model = DDP(net)
    net.training_losses(batch)["loss"].backward()         and `model` goes to nothing whose result may be trained with

    x = self.model.module.normalize(x)                    is not: `loss_of` is passed the wrapper with its result
    loss = self.loss_of(self.model, x)

For a model whose class has no available source, nothing else shows that one of its methods runs the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.result_uses import targets_of
from trl_lint.analysis.program.project.classes import decorators_of
from trl_lint.analysis.program.syntax import (
    ancestors,
    assignments,
    below,
    contexts_around,
    last_name,
    names_in,
    of_class,
    used_names,
)
from trl_lint.knowledge.library import UNWRAPS
from trl_lint.knowledge.models import FORWARDS, INNER_MODEL
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS

_BACKWARD = "backward"


def is_only_forward(
    root: cst.CSTNode, around: cst.CSTNode, call: cst.CSTNode, steps: Iterable[cst.CSTNode] = ()
) -> bool:
    """Whether a backward pass starts from the result of `model.module.method(…)`, and nothing calls `model`.

    The module may have a name, `inner = model.module`, or come from a method of the class, `self.bare_model()`. Or it
    is the one that was passed to the wrapper.

    root: the function (or module) of the call. around: its class, or else its module, in which nothing may call the
    wrapper. steps: what has made it the module inside a wrapper.
    """
    match call:
        case cst.Call(func=cst.Attribute(value=receiver)):
            wrappers = [*_wrappers(root, receiver), *_wrappers_of_helper(around, receiver)]
            wrappers = wrappers or _made_around(root, receiver, call, steps)
            is_called = any(_is_run_with_gradients(around, each) or _goes_with(root, call, each) for each in wrappers)
            return bool(wrappers) and not is_called and _is_trained_with(root, around, call)
    return False


def _is_run_with_gradients(around: cst.CSTNode, wrapper: cst.BaseExpression) -> bool:
    """Whether code calls a wrapper where a backward pass may follow, and not only in an evaluation."""
    calls = (each for each in of_class(around, cst.Call) if each.func.deep_equals(wrapper))
    return any(not WITHOUT_GRADIENTS & (contexts_around(around, each) | _decorators(around, each)) for each in calls)


def _decorators(root: cst.CSTNode, node: cst.CSTNode) -> set[str]:
    """The last parts of the names of the decorators of the functions around a node."""
    functions = (each for each in ancestors(root, node) if isinstance(each, cst.FunctionDef))
    return {name for each in functions for name in decorators_of(each)}


def _wrappers(
    root: cst.CSTNode, inner: cst.BaseExpression, names: frozenset[str] = frozenset()
) -> Iterator[cst.BaseExpression]:
    """The wrapper from which a module is taken: `model` of `model.module`, `unwrap_model(model)`, or a name of it.

    names: those that are being followed; `model = model._orig_mod if is_compiled(model) else model` leads back to one.
    """
    match inner:
        case cst.Attribute(value=wrapper, attr=cst.Name(name)) if name == INNER_MODEL:
            yield wrapper
        case cst.Call(func=maker, args=[cst.Arg(value=wrapper), *_]) if last_name(maker) in UNWRAPS:
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


def _made_around(
    root: cst.CSTNode, inner: cst.BaseExpression, call: cst.CSTNode, steps: Iterable[cst.CSTNode]
) -> list[cst.BaseExpression]:
    """The name that a function gives the wrapper of a module: the `model` of `model = DDP(net)`.

    None if something that the wrapper is passed to may run it in the loop around the call.
    """
    made = set(map(id, steps))
    wrappers = [target for target, value in _bindings(root) if id(value) in made]
    if any(each.deep_equals(inner) or _may_be_run(root, each, call) for each in wrappers):
        return []
    return wrappers


def _bindings(root: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    yield from assignments(root)
    yield from ((each.target, each.value) for each in of_class(root, cst.AnnAssign) if each.value is not None)


def _may_be_run(root: cst.CSTNode, wrapper: cst.BaseExpression, call: cst.CSTNode) -> bool:
    """Whether a wrapper may be run in the loop around a call, other than by a call of its name."""
    if not isinstance(wrapper, cst.Name):
        return True
    loops = (each for each in ancestors(root, call) if isinstance(each, (cst.For, cst.While)))
    loop = next(loops, root)
    occurrences = (each for each in of_class(root, cst.Name) if each.value == wrapper.value)
    return any(_may_reach(root, each, loop) for each in occurrences)


def _may_reach(root: cst.CSTNode, name: cst.Name, loop: cst.CSTNode) -> bool:
    """Whether an occurrence of the name of a wrapper may let something in a loop run it.

    Neither `model.train()` nor `save(model)`, whose result is dropped, nor `groups = groups_of(model)` before the loop.
    """
    around = ancestors(root, name)
    match around[-1]:
        case cst.AssignTarget() | cst.AnnAssign():
            return False
        case cst.Attribute(value=owner, attr=attribute):
            return owner is name and attribute.value in FORWARDS
        case cst.Arg(keyword=keyword) if keyword is name:
            return False
        case cst.Arg():
            statement = next((each for each in reversed(around) if isinstance(each, cst.BaseSmallStatement)), None)
            if isinstance(statement, cst.Expr):
                return statement.value is not around[-2]
            is_within = any(each is loop for each in around)
            names = targets_of(statement) if isinstance(statement, cst.Assign) else set()
            return is_within or not names or not names.isdisjoint(used_names(loop))
    return True


def _is_trained_with(root: cst.CSTNode, around: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether a backward pass starts from a result, here or in a function that calls this one."""
    is_started, is_returned = fate_of(root, call)
    if is_started or not (is_returned and isinstance(root, cst.FunctionDef)):
        return is_started
    callers = (each for each in of_class(around, cst.FunctionDef) if each is not root)
    return any(
        last_name(outer_call.func) == root.name.value and fate_of(caller, outer_call)[0]
        for caller in callers
        for outer_call in of_class(caller, cst.Call)
    )


def _goes_with(root: cst.CSTNode, result: cst.CSTNode, wrapper: cst.BaseExpression) -> bool:
    """Whether a result, or what is computed from it, is passed together with a wrapper to a call that gives something.

    Not so in `log(model, loss)`.
    """
    for statement, derived in _followed(root, result):
        small = statement.body[0]
        for call in of_class(statement, cst.Call):
            if (isinstance(small, cst.Expr) and small.value is call) or WITHOUT_GRADIENTS & contexts_around(root, call):
                continue
            given = [each.value for each in call.args]
            if any(each.deep_equals(wrapper) for each in given) and any(_has(each, result, derived) for each in given):
                return True
    return False


def _has(code: cst.CSTNode, result: cst.CSTNode, derived: set[str]) -> bool:
    """Whether code has a result in it, or one of the names of what is computed from it."""
    return not derived.isdisjoint(used_names(code)) or any(each is result for each in below(code))


def _followed(root: cst.CSTNode, result: cst.CSTNode) -> Iterator[tuple[cst.SimpleStatementLine, set[str]]]:
    """The statements of a function, each with the names of what has been computed from a result before it."""
    derived: set[str] = set()
    for statement in of_class(root, cst.SimpleStatementLine):
        yield statement, derived
        small = statement.body[0]
        if not isinstance(small, (cst.Assign, cst.AugAssign)):
            continue
        if any(each is result for each in below(statement)) or derived & used_names(small.value):
            bound = targets_of(small) if isinstance(small, cst.Assign) else names_in(small.target)
            derived |= bound - {"self"}


def fate_of(root: cst.CSTNode, call: cst.CSTNode) -> tuple[bool, bool]:
    """Whether a backward pass starts from something computed from a result, and whether that is returned."""
    is_returned = False
    for statement, derived in _followed(root, call):
        small = statement.body[0]
        starts = (each for each in of_class(small, cst.Call) if last_name(each.func) == _BACKWARD)
        if any(derived & used_names(each) for each in starts):
            return True, is_returned
        is_returned |= isinstance(small, cst.Return) and small.value is not None and _has(small.value, call, derived)
    return False, is_returned
