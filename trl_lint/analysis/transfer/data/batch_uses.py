"""What becomes of a batch that code asks for: whether a model is trained on it, or who gets it instead.

batch = next(batches)
loss = model(batch)
loss.backward()              TRAINED: what is computed from it leads to a call that computes gradients
return batch                 RETURNED
yield next(batches)          YIELDED
print(next(batches).shape)   OTHER
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    below,
    of_class,
    parts_of_target,
    self_attribute,
    used_names,
)
from trl_lint.analysis.transfer.data.loader_loops import training_calls

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

_SELF = "self"
# Places of which it is not known whether they are run, so that an assignment there leaves what was there before.
_MAYBE = (cst.If, cst.Try, cst.Match)


class Use(Enum):
    OTHER = 0
    RETURNED = 1
    YIELDED = 2
    TRAINED = 3


def use_of(frame: Frame, source: cst.CSTNode) -> Use:
    """What becomes of the value of an expression in its function, by the names that get what is computed from it."""
    around = ancestors(frame.root, source)
    flow = _Flow(frame, source, {id(each) for each in (*around, source)})
    # In the next turn of a loop, what stands above the expression gets its value as well.
    for _ in range(2 if any(isinstance(each, LOOPS) for each in around) else 1):
        for each in below(frame.root):
            flow.visit(each)
    return flow.use


class _Flow:
    """Follows a value through a function in the order of its text: `names` have something that is computed from it."""

    def __init__(self, frame: Frame, source: cst.CSTNode, around: set[int]) -> None:
        self.use = Use.OTHER
        self._around = around
        self._names: set[str] = set()
        self._training = {id(each) for each in training_calls(frame, frame.root)}
        maybe = (each for kind in _MAYBE for each in of_class(frame.root, kind))
        self._maybe = {id(inner) for each in maybe for inner in below(each)}

    def visit(self, node: cst.CSTNode) -> None:
        match node:
            case cst.Assign(targets=targets, value=value):
                for each in targets:
                    self._assign(each.target, self._has(value), id(node) in self._maybe)
            case cst.AugAssign(target=target, value=value) if self._has(value):
                self._assign(target, True, True)
            case cst.NamedExpr(target=target, value=value) | cst.For(target=target, iter=value):
                self._assign(target, self._has(value), True)
            case cst.Expr(value=cst.Call(func=cst.Attribute(value=holder), args=args)):
                if any(self._has(each.value) for each in args):  # `model.set_input(batch)`
                    self._assign(holder, True, True)
            case cst.Return(value=cst.BaseExpression() as value) if self._has(value):
                self._found(Use.RETURNED)
            case cst.Yield() if self._has(node):
                self._found(Use.YIELDED)
            case cst.Call() if id(node) in self._training and self._has(node):
                self._found(Use.TRAINED)

    def _found(self, use: Use) -> None:
        self.use = max(self.use, use, key=lambda each: each.value)

    def _has(self, node: cst.CSTNode) -> bool:
        return id(node) in self._around or not self._names.isdisjoint(_names_in(node))

    def _assign(self, target: cst.BaseExpression, has: bool, maybe: bool) -> None:
        for part in parts_of_target(target):
            name, is_whole = _name_of(part)
            if has and name:
                self._names.add(name)
            elif is_whole and not maybe:
                self._names.discard(name)


def _name_of(target: cst.BaseExpression) -> tuple[str, bool]:
    """The variable, or attribute of `self`, that an assignment changes, and whether it replaces it as a whole."""
    is_whole = True
    while isinstance(target, (cst.Subscript, cst.Attribute)) and not self_attribute(target):
        target, is_whole = target.value, False
    name = target.value if isinstance(target, cst.Name) else _of_self(target)
    return ("" if name == _SELF else name), is_whole


def _names_in(node: cst.CSTNode) -> set[str]:
    return {*used_names(node), *_attributes_in(node)} - {_SELF}


def _attributes_in(node: cst.CSTNode) -> Iterator[str]:
    return (_of_self(each) for each in of_class(node, cst.Attribute) if self_attribute(each))


def _of_self(node: cst.CSTNode) -> str:
    name = self_attribute(node)
    return name and f"{_SELF}.{name}"
