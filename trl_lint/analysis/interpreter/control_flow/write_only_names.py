"""Names and containers that a loop changes without reading them, so that another iteration finds nothing new.

For example:

    for batch in loader:
        loss = model(batch)
        losses.append(loss)          one iteration is enough: a second one adds the same to `losses` and `rows`,
        rows[batch.index] = loss     and binds `last` to the same
        last = loss

    for batch in loader:
        losses.append(model(batch))
        if len(losses) > 10: ...     it reads `losses`, of which more is known at the start of the second iteration
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import children, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import BoundMethod, ContainerValue, Identity, IterableValue, PartialCall
from trl_lint.domain.values import Value

# Methods that add to a container and return nothing.
_ADDS = frozenset({"add", "append", "appendleft", "extend", "insert"})


def reads_none_of(
    frame: Frame, loop: cst.For | cst.While, memory: Memory, names: Sequence[str], containers: set[Identity]
) -> bool:
    """Whether a loop only binds these names and adds to these containers. memory: the state at its head."""
    if not _read_in(loop).isdisjoint(names) or not containers.isdisjoint(frame.objects.class_cells):
        return False
    read = _read_in(loop) | _read_in_functions(frame.root)
    if not read.isdisjoint(names):
        return False
    return not containers or not any(_holds(value, containers) for value in _reachable_values(frame, memory, read))


def _reachable_values(frame: Frame, memory: Memory, read: frozenset[str]) -> Iterator[Value]:
    """The values that code which reads these names can reach; each container is listed separately."""
    for name, value in memory.names.items():
        if name in read or type(value) is not ContainerValue:  # which may lead to one of another name
            yield value
    for cell in memory.heap.values():
        yield from cell.values()
    yield from memory.attributes.values()
    scope = frame.outer
    while scope is not None:
        yield from scope.memory.names.values()
        scope = scope.outer


def _holds(value: Value, containers: set[Identity]) -> bool:
    """Whether a value leads to one of the containers without passing through another container."""
    if value.items or value.identities:
        return not containers.isdisjoint(value.identities) or any(_holds(item, containers) for item in value.items)
    if isinstance(value, IterableValue):
        return _holds(value.element, containers) or (value.view is not None and _holds(value.view[0], containers))
    if isinstance(value, BoundMethod):
        return _holds(value.receiver, containers)
    return isinstance(value, PartialCall)


@tree_cache(256)
def _read_in(loop: cst.For | cst.While) -> frozenset[str]:
    """The names whose value from before an iteration a loop may read: not those that it only binds, or binds first."""
    found: set[str] = set()
    bound: set[str] = set()
    if isinstance(loop, cst.For):
        found |= _read_by(_read_by_target(loop.target))
        bound |= _bound_by(loop.target)
    else:
        found |= _read_by((loop.test,))
    for statement in loop.body.body:
        parts = statement.body if type(statement) is cst.SimpleStatementLine else (statement,)
        for part in parts:
            found |= _read_by((part,)) - bound
            if type(part) is cst.Assign:
                bound |= {name for each in part.targets for name in _bound_by(each.target)}
    return frozenset(found)


def _read_by(code: Sequence[cst.CSTNode]) -> set[str]:
    """The names in some code, except those that it only binds, and those of containers that it only adds to."""
    found: set[str] = set()
    todo = list(code)
    while todo:
        node = todo.pop()
        if type(node) is cst.Name:
            found.add(node.value)
        elif type(node) is cst.Attribute or type(node) is cst.Arg:
            todo.append(node.value)
        elif type(node) is cst.Assign:
            todo.append(node.value)
            for each in node.targets:
                todo += _read_by_target(each.target)
        elif type(node) is cst.For:
            todo += (*_read_by_target(node.target), node.iter, node.body)
            todo += () if node.orelse is None else (node.orelse,)
        elif type(node) is cst.Expr and type(node.value) is cst.Call and _adds(node.value.func):
            todo += node.value.args
        else:
            todo += children(node)
    return found


def _read_by_target(target: cst.CSTNode) -> Sequence[cst.CSTNode]:
    if type(target) is cst.Name:
        return ()
    if type(target) is cst.Subscript and type(target.value) is cst.Name:
        return target.slice
    if type(target) is cst.Tuple:
        return [part for each in target.elements for part in _read_by_target(each.value)]
    return (target,)


def _bound_by(target: cst.CSTNode) -> set[str]:
    if type(target) is cst.Name:
        return {target.value}
    return {name for each in target.elements for name in _bound_by(each.value)} if type(target) is cst.Tuple else set()


def _adds(callee: cst.CSTNode) -> bool:
    return type(callee) is cst.Attribute and type(callee.value) is cst.Name and callee.attr.value in _ADDS


@tree_cache(64)
def _read_in_functions(root: cst.CSTNode) -> frozenset[str]:
    """The names in the functions defined inside a function or a module, which may be called anywhere in it."""
    inside = (*of_class(root, cst.FunctionDef), *of_class(root, cst.Lambda))
    return frozenset(_read_by([each for each in inside if each is not root]))
