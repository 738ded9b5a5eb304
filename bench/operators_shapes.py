"""Operators for the rules about shapes: a tensor travels before it is reduced, unpadded, or cut.

What is ragged is read off the text here, by the names that TRL's collators and the authors' own padding give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m
from flow import collectives
from neutral import Place
from source import Source, dotted

# A field of a batch, or logits, with the methods that keep their shape.
RAGGED = re.compile(
    r"""(\w*(inputs|batch)\[f?["'][^"']*(input_ids|attention_mask)["']\]|(?!.*reward)\w*logits)"""
    r"""(\.(detach|float|long|cpu|clone)\(\))*"""
)
REDUCING = {"sum", "mean", "max", "min"}
# Hooks that get the batches of the training, and what they hand them to.
STEPS = re.compile(r"^(_?compute_\w*loss|training_step|get_batch_loss_metrics)$")


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
    """`pad_across_processes(x, dim=1)` becomes `x`; what gathers the result is due."""
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
        function = source.enclosing(call, cst.FunctionDef)
        owner = source.enclosing(call, cst.ClassDef)
        if function is None or owner is None or not STEPS.match(function.name.value):
            continue
        named = (dotted(call.func) or "").endswith("accelerator.gather")
        if named and len(call.args) == 1 and _is_one_value(function, call.args[0].value):
            yield Place(call.func, "{}.gather_for_metrics", source.code(call.func.value), call)


def _is_one_value(function: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """Whether the expression is a reduction, or a name that is only ever bound to one."""
    if not isinstance(node, cst.Name):
        return _is_reduction(node)
    name = node.value
    bound = m.findall(function, m.Assign(targets=[m.AssignTarget(target=m.Name(name))]))
    return bool(bound) and all(_is_reduction(each.value) for each in bound)


def _is_reduction(node: cst.CSTNode) -> bool:
    return m.matches(
        node, m.Call(func=m.Attribute(attr=m.MatchIfTrue(lambda name: name.value in REDUCING)), args=[])
    )


def _gathering(
    source: Source, call: cst.Call, statement: cst.CSTNode
) -> tuple[cst.CSTNode, ...] | None:
    """The statements that gather the padded value: this one, or those that name what it is bound to."""
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
