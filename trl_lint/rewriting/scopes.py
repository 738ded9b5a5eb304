"""Where the names of a function are bound: what a statement may use if it is put somewhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import libcst as cst

from trl_lint.rewriting.tree import ancestors

_BLOCKS = (cst.IndentedBlock, cst.Module)


def walk(node: Any) -> Iterator[Any]:
    """The node and all below it, in the order of the text."""
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        todo.extend(reversed(each.children))


def is_before(root: Any, node: Any, other: Any) -> bool:
    """Whether a node starts before another one in the text."""
    order = {id(each): index for index, each in enumerate(walk(root))}
    return order[id(node)] < order[id(other)]


def names_in(node: Any) -> set[str]:
    """The names an expression looks up (attributes and keywords apart)."""
    found: set[str] = set()
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, cst.Name):
            found.add(each.value)
        elif isinstance(each, (cst.Attribute, cst.Arg)):
            todo.append(each.value)
        else:
            todo.extend(each.children)
    return found


def bound_by(node: Any) -> Iterator[str]:
    """The names that a node itself binds, whatever is below it."""
    match node:
        case cst.AssignTarget(target=target) | cst.AnnAssign(target=target) | cst.AugAssign(target=target):
            yield from _of_target(target)
        case cst.NamedExpr(target=target) | cst.For(target=target) | cst.CompFor(target=target):
            yield from _of_target(target)
        case cst.AsName(name=target):
            yield from _of_target(target)
        case cst.FunctionDef(name=name) | cst.ClassDef(name=name):
            yield name.value
        case cst.ImportAlias(asname=None):
            root = node.name
            while isinstance(root, cst.Attribute):
                root = root.value
            yield root.value
        case cst.Del(target=target):
            yield from _of_target(target)


def _of_target(target: Any) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _of_target(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from _of_target(target.value)


def bindings(root: Any, names: Iterable[str]) -> list[Any]:
    """The nodes in a function (or module) that bind one of these names; its parameters are not among them."""
    wanted = set(names)
    return [node for node in walk(root) if not wanted.isdisjoint(bound_by(node))]


def all_names(root: Any) -> set[str]:
    """Every name in a function or module, so that a new one can be told apart."""
    return {node.value for node in walk(root) if isinstance(node, cst.Name)}


def free_name(root: Any, wished: str) -> str:
    """A name that nothing in a function or module uses: the wished one, or it with a number."""
    taken = all_names(root)
    number = 2
    name = wished
    while name in taken:
        name = f"{wished}_{number}"
        number += 1
    return name


def enclosing_statement(root: Any, node: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The statement around a node that new ones can be put before, and the nodes around that, from the root."""
    chain = (*ancestors(root, node), node)
    for index in range(len(chain) - 1, 0, -1):
        if isinstance(chain[index], cst.BaseStatement) and isinstance(chain[index - 1], _BLOCKS):
            return chain[index], chain[:index]
    return None


def certainly_bound(root: Any, name: str, before: Any) -> bool:
    """Whether a name has a value on every way to a statement of a function.

    True for names that the function does not bind at all: they live outside of it.
    """
    if not bindings(root, [name]):
        return True
    if isinstance(root, cst.FunctionDef) and name in _parameters(root.params):
        return True
    chain = (*ancestors(root, before), before)
    for outer, inner in pairwise(chain):
        if isinstance(outer, cst.For) and inner is outer.body and name in _of_target(outer.target):
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
    return set(bound_by(item.asname)) if item.asname is not None else set()


def _always_binds(statement: Any, name: str) -> bool:
    """Whether a statement that has been run has bound the name."""
    match statement:
        case cst.SimpleStatementLine() | cst.SimpleStatementSuite():
            return any(name in set(bound_by(node)) for node in walk(statement) if not isinstance(node, cst.CompFor))
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
