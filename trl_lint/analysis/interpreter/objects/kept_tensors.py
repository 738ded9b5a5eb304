"""Tensors that change in place under a name, and are kept where that name was read from.

For example, after these lines the dict and the attribute hold the new value, as it is the same tensor:

    total = sums["loss"]                                total += loss
    total = sums.setdefault("loss", torch.zeros(2))     total.add_(loss)
    total = self.total                                  dist.all_reduce(total)
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.interpreter.objects import assignment
from trl_lint.analysis.program.syntax import assigned_once, assignments
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.values import Kind, Value


def changed_in_place(frame: Frame, target: cst.CSTNode, before: Value) -> None:
    """Write the tensor that a name stands for back to where the name has got it.

    target: the name, bound to the new value. before: its value before the change.
    """
    if before.kind is not Kind.TENSOR or not isinstance(target, cst.Name):
        return
    after = frame.memory.names.get(target.value)
    source = assigned_once(frame.root, target.value)
    if after is None or after is before or source is None:
        return
    match source:
        case cst.Subscript(value=holder, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            _put_back(frame, holder, key, _Change(before, after, frame.known_value(source)))
        case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name("setdefault")), args=[first, *_]):
            _put_back(frame, holder, first.value, _Change(before, after, frame.known_value(source)))
        case cst.Attribute(value=cst.Name()) if _is_read_only(frame.root, source):
            # Not of `model(x).loss`, as that would run the model again.
            if frame.value_of(source).kind is Kind.TENSOR:
                assignment.rebind(frame, source, after)


class _Change(NamedTuple):
    """A tensor before and after a change, and as it was when its name was bound."""

    before: Value
    after: Value
    bound: Value | None


def _put_back(frame: Frame, holder: cst.BaseExpression, key: cst.BaseExpression, change: _Change) -> None:
    """Write a tensor back to the entry it was read from, unless another one has taken its place since."""
    container, index = frame.value_of(holder), containers.constant_key(frame.value_of(key))
    cells = frame.memory.cells(container) if isinstance(container, ContainerValue) else []
    kept = containers.entry_at(cells[0], index) if len(cells) == 1 else None
    if isinstance(container, ContainerValue) and kept is not None and _is_alike(kept, change):
        assignment.put_entry(frame, container, index, change.after)


def _is_alike(kept: Value, change: _Change) -> bool:
    """Whether an entry has what is known of the tensor; where it is read, it may get a provenance of its own."""
    known = [each for each in (change.before, change.bound) if each is not None]
    return any(kept is each or (kept.kind is each.kind and kept.rank == each.rank) for each in known)


@tree_cache(256)
def _is_read_only(root: cst.CSTNode, attribute: cst.Attribute) -> bool:
    """Whether a function does not assign to an attribute that it reads."""
    return not any(target.deep_equals(attribute) for target, _ in assignments(root))
