"""Masks that select as many elements on all ranks, as far as is known: all alike at first, and set at ranked positions.

keep = torch.ones_like(scores, dtype=torch.bool)
keep[scores.topk(k).indices] = False                k fewer than there are
keep[scores < 0] = False                            any number of them: it depends on the data
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, last_name

# Not in torch_ops: what makes tensors of equal elements, and what returns different positions, as many as it is told.
_ALIKE = frozenset({"full", "full_like", "new_ones", "new_zeros", "ones", "ones_like", "zeros", "zeros_like"})
_POSITIONS = frozenset({"argsort", "randperm", "sort", "topk"})


def selects_as_many(root: cst.CSTNode, mask: cst.BaseExpression) -> bool:
    """Whether a name stands for such a mask. root: the function (or module) of the name."""
    if not isinstance(mask, cst.Name):
        return False
    made = list(_values_of(root, mask.value))
    places = [target for target, value in assignments(root) if _is_set(target, value, mask.value)]
    parts = [target for target, _ in assignments(root) if _is_part(target, mask.value)]
    return (
        bool(made)
        and len(places) == len(parts) > 0
        and all(isinstance(each, cst.Call) and last_name(each.func) in _ALIKE for each in made)
        and all(_are_positions(root, each) for each in places)
    )


def _values_of(root: cst.CSTNode, name: str) -> Iterator[cst.BaseExpression]:
    """What is assigned to a name, or unpacked into it and others."""
    for target, value in assignments(root):
        names = [each.value for each in target.elements] if isinstance(target, cst.Tuple) else [target]
        if any(isinstance(each, cst.Name) and each.value == name for each in names):
            yield value


def _is_part(target: cst.BaseExpression, name: str) -> bool:
    return isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name) and target.value.value == name


def _is_set(target: cst.BaseExpression, value: cst.BaseExpression, name: str) -> bool:
    """Whether a constant is assigned to a part of what has this name."""
    return _is_part(target, name) and isinstance(value, cst.Name) and value.value in ("False", "True")


def _are_positions(root: cst.CSTNode, target: cst.BaseExpression) -> bool:
    """Whether the index of a subscript is what a function returns that ranks or draws positions."""
    match target:
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(cst.Name(name)))]):
            found = list(_values_of(root, name))
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(index))]):
            found = [index]
        case _:
            return False
    return bool(found) and all(_begins_with_positions(each) for each in found)


def _begins_with_positions(node: cst.BaseExpression) -> bool:
    """Whether an expression is such a call, or a part of its result: `scores.topk(k).indices`, `randperm(n)[:k]`."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return isinstance(node, cst.Call) and last_name(node.func) in _POSITIONS
