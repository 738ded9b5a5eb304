"""Loops that replace every entry of a dict, or of a list, by something that is the same on all ranks.

    for name in losses:
        losses[name] = reduce(losses[name])           afterwards all of `losses` is reduced
    names = sorted(losses)
    for name, mean in zip(names, means.tolist()):
        losses[name] = mean                           the same
    for name, loss in losses.items():
        if name in SHOWN:
            losses[name] = reduce(loss)               only some of it may be
    for i in range(len(models)):
        models[i] = DDP(models[i])                    afterwards all of `models` are wrapped
    for i, model in enumerate(models):
        models[i] = DDP(model)                        the same

What an entry is replaced by is joined with what the others hold, as nothing is known of the keys. But the loop goes
through all of them. The dict may be an object of a class of the project that inherits from `dict`.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.objects.assignment import rebind
from trl_lint.analysis.program.syntax import of_class, resolved
from trl_lint.analysis.state import own_dicts
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value

_LEAVES = (cst.Break, cst.Continue, cst.Return)


def replace_all(frame: Frame, loop: cst.For) -> None:
    """Replace what is known of a dict once a loop over its keys has assigned each of its entries."""
    container, key = _iterated(frame.root, loop.iter, loop.target)
    if container is None:
        return
    lines = (line for line in loop.body.body if isinstance(line, cst.SimpleStatementLine))
    assigned = (_assigned(frame, statement, container, key) for line in lines for statement in line.body)
    values = [value for value in assigned if value is not None and value.rank.state is State.SAME]
    # Few loops get here, so the walk that finds what leaves a loop early comes last.
    if values and not any(any(of_class(loop.body, each)) for each in _LEAVES):
        _replace(frame, container, values[-1])


def gives_keys(frame: Frame, loop: cst.For) -> bool:
    """Whether a loop goes through the keys of something, as its body looks them up there: `out[name]`."""
    container, key = _iterated(frame.root, loop.iter, loop.target)
    found = of_class(loop.body, cst.Subscript) if container is not None else ()
    return any(_is_entry(each, container, key) for each in found)


def _is_entry(node: cst.CSTNode, container: cst.BaseExpression | None, key: str) -> bool:
    """Whether an expression is the entry of the current key."""
    match node:
        case cst.Subscript(value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(index)))]):
            return index == key and container is not None and owner.deep_equals(container)
    return False


def _iterated(
    root: cst.CSTNode, iterable: cst.BaseExpression, target: cst.BaseAssignTargetExpression
) -> tuple[cst.BaseExpression | None, str]:
    """The dict or list whose keys a loop goes through, and the name of the key; None if it goes through others."""
    match iterable, target:
        case cst.Call(func=cst.Name("range"), args=[cst.Arg(cst.Call(cst.Name("len"), [cst.Arg(counted)]))]), cst.Name(
            key
        ):
            return _itself(counted), key
        case cst.Call(func=cst.Name("zip"), args=[cst.Arg(value=first), *_]), cst.Tuple(
            elements=[cst.Element(value=cst.Name() as key), *_]
        ):
            return _keys_in(root, first), key.value
        case cst.Call(func=cst.Name("enumerate"), args=[cst.Arg(value=first)]), cst.Tuple(
            elements=[cst.Element(value=cst.Name() as index), cst.Element(value=cst.Name() as key)]
        ):
            keys = _keys_in(root, first)
            return (_itself(first), index.value) if keys is None else (keys, key.value)
        case cst.Call(func=cst.Name("list" | "sorted"), args=[cst.Arg(value=inner)]), cst.Tuple():
            return _iterated(root, inner, target)
        case cst.Call(func=cst.Attribute(value=container, attr=cst.Name("items")), args=[]), cst.Tuple(
            elements=[cst.Element(value=cst.Name(key)), _]
        ):
            return container, key
        case _, cst.Name(key):
            return _keys_in(root, iterable) or _itself(iterable), key
    return None, ""


def _keys_in(root: cst.CSTNode, keys: cst.BaseExpression) -> cst.BaseExpression | None:
    """The dict whose keys something is: `d.keys()`, `sorted(d)`, or a name for that; None if it is not known to be.

    A name is looked up once: `names = sorted(names)` has no end.
    """
    return _listed(resolved(root, keys))


def _listed(keys: cst.BaseExpression) -> cst.BaseExpression | None:
    match keys:
        case cst.Call(func=cst.Name("list" | "sorted" | "tuple"), args=[cst.Arg(value=inner)]):
            return _listed(inner) or _itself(inner)
        case cst.Call(func=cst.Attribute(value=container, attr=cst.Name("keys")), args=[]):
            return container
    return None


def _itself(iterable: cst.BaseExpression) -> cst.BaseExpression | None:
    return iterable if isinstance(iterable, (cst.Name, cst.Attribute)) else None


def _assigned(frame: Frame, statement: cst.CSTNode, container: cst.BaseExpression, key: str) -> Value | None:
    """What a statement assigns to the entry of the current key, if it does."""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if _is_entry(target, container, key):
            return frame.known_value(value)
    return None


def _replace(frame: Frame, container: cst.BaseExpression, value: Value) -> None:
    known = own_dicts.with_entries(frame, frame.engine.evaluate(frame, container))
    if isinstance(known, ContainerValue):
        frame.update(known, lambda cell: cell.holding(dict.fromkeys(cell.entries, value), value))
    elif known.kind is Kind.BATCH:
        rebind(frame, container, known.replace(rank=value.rank, provenance=None))
