"""Blocks: the statement around a node, and which names surely have a value before a statement."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors
from trl_lint.fixes.support.edits import Import, NoFix
from trl_lint.fixes.support.importing import has_place
from trl_lint.fixes.support.scope import binders, binds, nodes

NO_PLACE = NoFix("there is no place for an import behind what the file sets up for its imports")
_BLOCKS = (cst.IndentedBlock, cst.Module)


def enclosing_statement(root: Any, node: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The statement around a node that new ones can be put before, and the nodes around that, from the root."""
    chain = (*ancestors(root, node), node)
    for index in range(len(chain) - 1, 0, -1):
        if isinstance(chain[index], cst.BaseStatement) and isinstance(chain[index - 1], _BLOCKS):
            return chain[index], chain[:index]
    return None


def own_line(root: Any, node: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The statement around a node and the nodes around that, if a line put before it is run just before the node."""
    found = enclosing_statement(root, node)
    if found is None or not isinstance(found[0], cst.SimpleStatementLine) or len(found[0].body) > 1:
        return None
    return found


def torch_in_reach(module: Any, root: Any, node: Any) -> tuple[Import, ...] | NoFix:
    """The import that makes `torch` mean the library at a node (none if it does), or why it can't."""
    tree = module.tree
    if not all(_imports_torch(tree, each) for each in binders(tree, ["torch"])) or "torch" in _parameter_names(tree):
        return NoFix("`torch` may mean something else here")
    if root is tree or not binders(root, ["torch"]):
        needed = Import("torch")
        return (needed,) if has_place(module, needed, node) else NO_PLACE
    found = enclosing_statement(root, node)
    if found is None or not certainly_bound(root, "torch", found[0]):
        return NoFix("`torch` may not be imported yet here")
    return ()


def _imports_torch(tree: cst.Module, node: Any) -> bool:
    """Whether a node binds `torch` to the library: in an `import`, not in a `from … import`."""
    around = ancestors(tree, node)
    return isinstance(node, cst.ImportAlias) and isinstance(around[-1], cst.Import)


@lru_cache(maxsize=16)
def _parameter_names(tree: cst.Module) -> set[str]:
    return {node.name.value for node in nodes(tree) if isinstance(node, cst.Param)}


def certainly_bound(root: Any, name: str, before: Any) -> bool:
    """Whether a name has a value on every way to a statement of a function.

    True for names that the function does not bind at all: they live outside of it.
    """
    if not binders(root, [name]):
        return True
    if isinstance(root, cst.FunctionDef) and name in _parameters(root.params):
        return True
    chain = (*ancestors(root, before), before)
    for outer, inner in pairwise(chain):
        if isinstance(outer, cst.For) and inner is outer.body and name in binds(outer):
            return True
        if isinstance(outer, cst.With) and any(name in _as_names(item) for item in outer.items):
            return True
        if isinstance(outer, _BLOCKS):
            earlier = outer.body[: list(map(id, outer.body)).index(id(inner))]
            if any(_always_binds(statement, name) for statement in earlier):
                return True
    return False


def _parameters(params: cst.Parameters) -> set[str]:
    listed = [*params.posonly_params, *params.params, *params.kwonly_params, params.star_arg, params.star_kwarg]
    return {param.name.value for param in listed if isinstance(param, cst.Param)}


def _as_names(item: cst.WithItem) -> set[str]:
    return binds(item.asname) if item.asname is not None else set()


def _always_binds(statement: Any, name: str) -> bool:
    """Whether a statement that has been run has bound the name."""
    match statement:
        case cst.SimpleStatementLine() | cst.SimpleStatementSuite():
            return any(name in binds(node) for node in nodes(statement) if not isinstance(node, cst.CompFor))
        case cst.With(items=items, body=body):
            return any(name in _as_names(item) for item in items) or _block_binds(body, name)
        case cst.If(body=body, orelse=orelse):
            # An arm that leaves is not followed by what comes next.
            arms = [body, orelse.body if isinstance(orelse, cst.Else) else orelse]
            return all(arm is not None and (_leaves(arm) or _block_binds(arm, name)) for arm in arms)
        case cst.FunctionDef(name=own) | cst.ClassDef(name=own):
            return own.value == name
    return False


def _block_binds(block: Any, name: str) -> bool:
    if isinstance(block, cst.If):
        return _always_binds(block, name)
    return any(_always_binds(each, name) for each in block.body) or (
        isinstance(block, cst.SimpleStatementSuite) and _always_binds(block, name)
    )


def _leaves(block: Any) -> bool:
    last = block.body[-1] if isinstance(block, (cst.IndentedBlock, cst.SimpleStatementSuite)) and block.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, (cst.Return, cst.Raise, cst.Break, cst.Continue))
