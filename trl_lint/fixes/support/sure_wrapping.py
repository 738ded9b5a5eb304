"""Whether a model is in its wrapper in a run of one process, too, as far as a file shows it.

For example:

    model = DDP(net)                               it is
    model = DDP(net) if world_size > 1 else net    it is not: the analysis runs the way of several processes only
    def step(self, model): …                       that depends on what the callers pass
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, definitions_around, last_name
from trl_lint.domain.provenance import SourceModule, Step, WrappedHere, steps
from trl_lint.fixes.support.scope import always_reached, bound_targets, contains, dotted, is_before

if TYPE_CHECKING:
    from trl_lint.fixes.support.node_types import Scope

_CONSTRUCTOR = "__init__"


def is_always_wrapped(model: cst.BaseExpression, wrapped: Step | None, module: SourceModule) -> bool:
    """Whether a model in a file has got its wrapper on every way there. wrapped: the chain that says where it has."""
    return any(
        each.module is module and _binds_always(model, each.node, module.tree)
        for each in steps(wrapped)
        if isinstance(each, WrappedHere)
    )


def _binds_always(model: cst.BaseExpression, call: cst.CSTNode, tree: cst.Module) -> bool:
    """Whether a model is the result of a call, wherever its expression is reached: `model = DDP(net)`."""
    match ancestors(tree, call)[-1:]:
        case [cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) as assign] if value is call:
            is_bound = bool(dotted(model)) and dotted(target) == dotted(model)
            return is_bound and _is_last(target, assign, tree) and _is_before_each(assign, model, tree)
    return False


def _is_last(target: cst.BaseExpression, assign: cst.Assign, tree: cst.Module) -> bool:
    """Whether nothing binds a name, or an attribute of that name, after an assignment."""
    home = function_around(tree, assign)
    root = tree if isinstance(target, cst.Attribute) else home
    others = (each for each in bound_targets(root) if each is not target and type(each) is type(target))
    named = (each for each in others if last_name(each) == last_name(target))
    return all(contains(home, each) and is_before(home, each, assign) for each in named)


def _is_before_each(assign: cst.Assign, model: cst.BaseExpression, tree: cst.Module) -> bool:
    """Whether an assignment comes before a model is used: in a block around that, or in the constructor."""
    home = function_around(tree, assign)
    path = ancestors(home, assign)
    if function_around(tree, model) is home:
        block = next(each for each in reversed(path) if isinstance(each, (cst.BaseSuite, cst.Module)))
        return any(each is block for each in ancestors(home, model)) and is_before(home, assign, model)
    around = [each for each in definitions_around(tree, model) if isinstance(each, cst.ClassDef)]
    is_constructor = isinstance(home, cst.FunctionDef) and home.name.value == _CONSTRUCTOR
    return is_constructor and bool(around) and contains(around[-1], home) and always_reached(path, assign)


def function_around(tree: cst.Module, node: cst.CSTNode) -> Scope:
    """The function around a place of a file, or the file."""
    around = [each for each in definitions_around(tree, node) if isinstance(each, cst.FunctionDef)]
    return cast("Scope", around[-1] if around else tree)
