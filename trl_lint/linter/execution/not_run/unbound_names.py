"""Code behind the read of a name that nothing binds where it is read: Python raises NameError there.

For example:

    def evaluate(model, loader): ...
    def evaluate_several(model, batch):             taken out of the other function
        for row in range(loader.batch_size):        `loader` is a parameter of the other one alone
            model.beams[row]                        never runs

A name that no function of the file binds either may come from where the code is run: a notebook, or a builtin of it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from operator import attrgetter

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import ancestors, children, inwards
from trl_lint.fixes.support.scope import bound_names, bound_targets, declared_names
from trl_lint.linter.execution.not_run.bound_names import may_bind_unseen

_BUILTINS = frozenset(dir(builtins))
# What is in them may not run, or binds names of its own; or they read no name. (By class, as most nodes are none.)
_APART = frozenset(
    {
        *(cst.ClassDef, cst.FunctionDef, cst.IfExp, cst.Lambda),
        *(cst.Assert, cst.Global, cst.Import, cst.ImportFrom, cst.Nonlocal),
    }
)
# Of these, one part is read: the other one is no name of its own, or may not be read.
_PARTS: dict[type[cst.CSTNode], Callable[[cst.CSTNode], cst.CSTNode]] = {
    cst.Arg: attrgetter("value"),
    cst.Attribute: attrgetter("value"),
    cst.BooleanOperation: attrgetter("left"),
}


def is_behind_unbound_name(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether each way through the function around a node leads over the read of such a name first."""
    functions = [each for each in ancestors(module.tree, node) if isinstance(each, cst.FunctionDef)]
    if not functions:
        return False
    elsewhere = module.notes.cached(is_behind_unbound_name, lambda: _names_of_functions(module.tree))
    own = bound_names(functions[0])
    read = (name in elsewhere and name not in own for name in _read_before(functions[-1], node))
    return any(read) and not may_bind_unseen(module)


def _names_of_functions(tree: cst.Module) -> frozenset[str]:
    """The names that functions of a file bind for themselves, and no other code in it."""
    inside, outside = set[str](), set(declared_names(tree)) | _BUILTINS
    for target in bound_targets(tree):
        if isinstance(target, cst.Name):
            around = ancestors(tree, target)
            is_own = any(isinstance(each, cst.FunctionDef) and each.name is not target for each in around)
            (inside if is_own else outside).add(target.value)
    return frozenset(inside - outside)


def _read_before(function: cst.FunctionDef, node: cst.CSTNode) -> Iterator[str]:
    """The names that are always read on the way from the beginning of a function to a node."""
    for outer, inner in inwards(function.body, node):
        if isinstance(outer, cst.IndentedBlock):
            for statement in outer.body[: outer.body.index(inner)]:
                yield from _read_at_once(statement)
        elif isinstance(inner, cst.BaseSuite):
            yield from _read_at_once(outer)


def _read_at_once(statement: cst.CSTNode) -> Iterator[str]:
    """The names that a statement always reads; of one with a block, those of its head."""
    match statement:
        case cst.SimpleStatementLine(body=parts):
            read: list[cst.CSTNode] = list(parts)
        case cst.For(iter=iterated):
            read = [iterated]
        case cst.If(test=test) | cst.While(test=test):
            read = [test]
        case cst.With(items=items):
            read = [items[0].item]
        case _:
            return
    yield from (name for each in read for name in _names(each))


def _names(node: cst.CSTNode) -> Iterator[str]:
    kind = node.__class__
    if isinstance(node, cst.Name):
        yield node.value
    elif kind in _PARTS:
        yield from _names(_PARTS[kind](node))
    elif kind not in _APART and not isinstance(node, cst.BaseComp):
        for each in children(node):
            yield from _names(each)
