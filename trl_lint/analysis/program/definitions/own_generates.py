"""Whether a project's own `generate` returns the tokens of a library's, or what only its own code knows.

def generate(self, ids):                      a library's: its length depends on the ids of this rank
    return self.lm.generate(ids)

def generate(self, ids):                      the project's own: it may have the same length on all ranks
    state, tokens = self(ids), []
    for _ in range(self.steps):
        ...
    return torch.stack(tokens, dim=1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import definitions_around, is_super, of_class, resolved, self_attribute
from trl_lint.domain.values import Value
from trl_lint.knowledge.models import GENERATES

Attributes = Callable[[ClassInfo, str], Value | None]


def returns_tokens_of_library(
    cls: ClassInfo, method: FunctionInfo, attribute: Attributes, seen: frozenset[FunctionInfo] = frozenset()
) -> bool:
    """Whether a method of a class returns, on some way, just what the `generate` of a library's model returns.

    attribute: finds the value of an attribute of a class. seen: the methods that have led to this one.
    """
    called = [] if method in seen else [each for each in map(_generates, _returned(method)) if each is not None]
    for owner, name in called:
        part, own = cls, cls.find_above(name, method.cls)
        if not is_super(owner):
            value = attribute(cls, self_attribute(owner)) if self_attribute(owner) else None
            part = class_of(value) or cls
            own = None if class_of(value) is None else part.find(name)
        if own is None or returns_tokens_of_library(part, own, attribute, seen | {method}):
            return True
    return False


def _returned(method: FunctionInfo) -> Iterator[cst.BaseExpression]:
    """What a method returns, without the start of each row: `tokens[:, length:]`."""
    for each in of_class(method.node.body, cst.Return):
        if each.value is None or definitions_around(method.node.body, each):
            continue
        value = resolved(method.node, each.value)
        while isinstance(value, cst.Subscript) and all(map(_is_open, value.slice)):
            value = resolved(method.node, value.value)
        yield value


def _is_open(element: cst.SubscriptElement) -> bool:
    return isinstance(element.slice, cst.Slice) and element.slice.upper is None


def _generates(value: cst.BaseExpression) -> tuple[cst.BaseExpression, str] | None:
    match value:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if name in GENERATES:
            return owner, name
    return None
