"""Operators for the rules about shapes: a tensor is gathered before it is reduced, unpadded, or cut.

Ragged tensors are recognised in the text, by the names that TRL's collators and the authors' own padding use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

import libcst as cst
import libcst.matchers as m

from evaluation.flow import collectives
from evaluation.neutral import Place
from evaluation.source import Source, descendants, dotted

# A field of a batch, or logits, with the methods that keep their shape.
RAGGED = re.compile(
    r"""(\w*(inputs|batch)\[f?["'][^"']*(input_ids|attention_mask)["']\]|(?!.*reward)\w*logits)"""
    r"""(\.(detach|float|long|cpu|clone)\(\))*"""
)
REDUCING = {"sum", "mean", "max", "min", "nansum", "nanmean"}
# Methods that return one value for one.
KEEPING = {"clamp", "clone", "detach", "float", "to"}
# Hooks that receive the training batches, and the methods that these call with them.
STEPS = re.compile(r"^(_?compute_\w*loss\w*|training_step|get_batch_loss_metrics)$")


def reduced_late(source: Source) -> Iterator[Place]:
    """`gather(mask.sum())` becomes `gather(mask)`."""
    for call in collectives(source):
        value = call.args[0].value
        if not _is_reduction(value) or not source.code(call.func).endswith(("gather", "gather_for_metrics")):
            continue
        inner = value.func.value
        if RAGGED.fullmatch(source.code(inner)):
            yield Place(value, "{}", source.code(inner), value)


def unpadded(source: Source) -> Iterator[tuple[Place, tuple[cst.CSTNode, ...]]]:
    """`pad_across_processes(x, dim=1)` becomes `x`; a finding is due where the result is gathered."""
    for call in source.all(cst.Call):
        if not (dotted(call.func) or "").endswith("pad_across_processes") or not call.args:
            continue
        value = source.code(call.args[0].value)
        statement = source.statement(call)
        due = _gathering(source, call, statement)
        if due is not None:
            yield Place(call, "{}", value, call), due


def cut(source: Source) -> Iterator[Place]:
    """`gather(loss.mean())` becomes `gather_for_metrics(loss.mean())` in a step of the training."""
    for call in collectives(source):
        function = _step_around(source, call)
        named = (dotted(call.func) or "").endswith("accelerator.gather")
        if function is not None and named and len(call.args) == 1 and _is_one(source, function, call.args[0].value):
            yield Place(call.func, "{}.gather_for_metrics", source.code(call.func.value), call)


def _step_around(source: Source, call: cst.Call) -> cst.FunctionDef | None:
    """The training step that contains a call: a method that computes a loss.

    If completions are generated, the dataloader is not always at its end when its last batch is trained on: batches are
    used for several steps. Such methods are left out.
    """
    function = source.enclosing(call, cst.FunctionDef)
    inside = function is not None and source.enclosing(call, cst.ClassDef) is not None
    return function if inside and STEPS.match(function.name.value) else None


def _is_one(
    source: Source, function: cst.FunctionDef, node: cst.CSTNode | None, names: frozenset[str] = frozenset()
) -> bool:
    """Whether the text shows that an expression is one value: a reduction over all elements, or computed from such
    values.

    The names are those already being followed: `loss = loss + x` says nothing against `loss`.
    """
    part = partial(_is_one, source, function, names=names)
    if isinstance(node, cst.Call):
        return _is_reduction(node) or _keeps_one(source, node, part)
    if isinstance(node, cst.BinaryOperation):
        return part(node.left) and part(node.right)
    if isinstance(node, cst.IfExp):
        return part(node.body) and part(node.orelse)
    if isinstance(node, cst.Name):
        bound = _bindings(source, function, node.value)
        inside = partial(_is_one, source, function, names=names | {node.value})
        return node.value in names or (bool(bound) and all(map(inside, bound)))
    # A number, or a setting of the trainer.
    return isinstance(node, (cst.Integer, cst.Float)) or (dotted(node) or "").startswith("self.")


def _keeps_one(source: Source, call: cst.Call, part: Callable[[cst.CSTNode | None], bool]) -> bool:
    """`x.detach()` of one value, and a call of a function in the file that only ever returns one."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value in KEEPING and part(call.func.value)
    helpers = [each for each in source.all(cst.FunctionDef) if m.matches(call.func, m.Name(each.name.value))]
    returned = [each.value for helper in helpers[:1] for each in m.findall(helper.body, m.Return())]
    return len(helpers) == 1 and bool(returned) and all(_is_one(source, helpers[0], each) for each in returned)


def _bindings(source: Source, function: cst.FunctionDef, name: str) -> list[cst.CSTNode | None]:
    """The values of a name in a function, otherwise in the one around it; None for what the text does not show."""
    bound: list[cst.CSTNode | None] = []
    for node in descendants(function):
        target = node.targets[0].target if isinstance(node, cst.Assign) else getattr(node, "target", None)
        if isinstance(node, (cst.Assign, cst.AugAssign)) and m.matches(target, m.Name(name)):
            bound.append(node.value)
        elif isinstance(node, cst.Name) and node.value == name and _is_bound_otherwise(source, node):
            bound.append(None)
    outer = None if bound else source.enclosing(function, cst.FunctionDef)
    return bound if outer is None else _bindings(source, outer, name)


def _is_bound_otherwise(source: Source, name: cst.Name) -> bool:
    """Whether a name is a parameter, or the target of a loop, of a with statement, or of an unpacking."""
    parent = source.parents[name]
    if isinstance(parent, cst.Element):
        parent = source.parents[source.parents[parent]]
        return isinstance(parent, (cst.AssignTarget, cst.For, cst.CompFor))
    bound = {cst.Param: "name", cst.For: "target", cst.CompFor: "target", cst.AsName: "name", cst.NamedExpr: "target"}
    return type(parent) in bound and getattr(parent, bound[type(parent)]) is name


def _is_reduction(node: cst.CSTNode) -> bool:
    return m.matches(node, m.Call(func=m.Attribute(attr=m.MatchIfTrue(lambda name: name.value in REDUCING)), args=[]))


def _gathering(source: Source, call: cst.Call, statement: cst.CSTNode) -> tuple[cst.CSTNode, ...] | None:
    """The statements that gather the padded value: this one, or those that use the name it is bound to."""
    if any(other is not call and call in _arguments(other) for other in collectives(source)):
        return (statement,)
    names = [
        node.targets[0].target.value
        for node in m.findall(statement, m.Assign(targets=[m.AssignTarget(target=m.Name())]))
        if node.value is call
    ]
    function = source.enclosing(call, cst.FunctionDef)
    if not names or function is None:
        return None
    found = [
        source.statement(other)
        for other in collectives(source)
        if source.enclosing(other, cst.FunctionDef) is function
        and any(m.matches(value, m.Name(names[0])) for value in _arguments(other))
        and not (dotted(other.func) or "").endswith("pad_across_processes")
    ]
    return tuple(found[:1]) or None


def _arguments(call: cst.Call) -> list[cst.BaseExpression]:
    return [argument.value for argument in call.args]
