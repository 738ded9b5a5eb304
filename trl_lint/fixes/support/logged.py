"""What a statement logs: the expression, its parts and their facts, and where a name for it is bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors
from trl_lint.domain.ranks import SCALABLE, State
from trl_lint.domain.values import Kind, Value
from trl_lint.domain.writes import Payload
from trl_lint.fixes.support.blocks import enclosing_statement
from trl_lint.fixes.support.edits import Import
from trl_lint.fixes.support.reductions import HOST_METHODS
from trl_lint.fixes.support.scope import binders
from trl_lint.fixes.support.tree import goes_to_cpu, method_call
from trl_lint.fixes.support.uses import only_shown

_HOST_FUNCTIONS = frozenset({"float", "int", "round"})
# Steps that only a tensor of one element survives.
_PROVES_ONE = frozenset({"item", "float", "int", "round"})


@dataclass(frozen=True, slots=True)
class LogSite:
    """What is logged, and the statement and the function (or module) it stands in."""

    module: Any
    root: Any
    statement: Any
    payload: Payload
    what: str

    def value_of(self, node: Any) -> Value | None:
        return self.payload.seen.get(id(node))

    @property
    def accelerator(self) -> cst.BaseExpression:
        return cst.parse_expression(self.payload.accelerator)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The new code before it has a place: what takes the place of which nodes.

    is_number: a Python number becomes a tensor. ends_here: the new code ends in `.item()`. moves: a tensor that
    had been moved to the CPU goes back to the device. reduction: how one value is reduced ("" for a ratio).
    """

    replaced: tuple[tuple[Any, cst.BaseExpression], ...]
    is_number: bool
    ends_here: bool = False
    moves: bool = False
    imports: tuple[Import, ...] = ()
    # Lines that have to come first.
    lines: tuple[str, ...] = ()
    reduction: str = ""


def with_payload(place: LogSite, **changes: Any) -> LogSite:
    payload = place.payload
    fields = {name: getattr(payload, name) for name in Payload.__slots__} | changes
    return replace(place, payload=Payload(**fields))


def core_of(place: LogSite, node: Any, value: Value) -> tuple[Any, Value, bool]:
    """Take off what only hands the reduced value on: the part to gather, its facts, whether it has one element."""
    proven = False
    while True:
        inner, step = _inner(place, node, value)
        if inner is None:
            return node, value, proven
        found = place.value_of(inner)
        if found is None or not found.rank.differs:
            return node, value, proven
        proven = proven or step in _PROVES_ONE
        node, value = inner, found


def _inner(place: LogSite, node: Any, value: Value) -> tuple[Any, str]:
    """The operand of the outermost step that commutes with the reduction, and the name of that step."""
    method = method_call(node)
    if method is not None:
        receiver, name = method
        is_host = name in HOST_METHODS and not node.args
        return (receiver, name) if is_host or (name == "to" and goes_to_cpu(node)) else (None, "")
    match node:
        case cst.Call(func=cst.Name(value=name), args=[first, *_]) if name in _HOST_FUNCTIONS and not first.star:
            return first.value, name
        case cst.UnaryOperation(operator=cst.Minus(), expression=negated) if value.rank.how in SCALABLE:
            return negated, ""
        case cst.BinaryOperation() if value.rank.how:
            return _one_side(place, node, value), ""
    return None, ""


def _one_side(place: LogSite, node: cst.BinaryOperation, value: Value) -> Any:
    """The side of an operation that carries the reduction, when the other is the same on all ranks."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        mine, theirs = place.value_of(side), place.value_of(other)
        if mine is None or theirs is None or theirs.rank.state is not State.SAME:
            continue
        divides = isinstance(node.operator, cst.Divide) and side is node.right
        if mine.rank.differs and mine.rank.how == value.rank.how and not divides:
            return side
    return None


def is_number(value: Value) -> bool:
    """Not a tensor of torch, so that it has to be made one."""
    return value.kind is Kind.NUMBER or value.device == "host"


def identifier(what: str) -> str:
    """A metric's key as the head of a name: `eval/token_accuracy` gives `token_accuracy`."""
    last = what.replace("…", "").rstrip("/").rpartition("/")[2]
    cleaned = "".join(char if char.isalnum() else "_" for char in last).strip("_").lower()
    return cleaned if cleaned.isidentifier() else ""


def binding_of(place: LogSite) -> LogSite | None:
    """The place where a logged name is bound, if it is bound once and used for nothing but logs.

    There the tensor is still at hand, and a value with several sinks is gathered once.
    """
    name, _, _ = core_of(place, place.payload.expression, place.payload.value)
    assign = only_binding(place, name)
    if assign is None or not only_shown(
        place.root, name.value, assign.targets[0].target, numeric=_is_host_number(place, assign.value)
    ):
        return None
    value = place.value_of(assign.value)
    if value is None:
        return None
    return replace(with_payload(place, expression=assign.value, value=value), statement=assign)


def _is_host_number(place: LogSite, node: Any) -> bool:
    value = place.value_of(node)
    return value is not None and value.kind is Kind.NUMBER


def only_binding(place: LogSite, name: Any) -> Any:
    """The assignment that alone binds a name, on the way to the statement; None when there is none."""
    found = binders(place.root, [name.value]) if isinstance(name, cst.Name) else []
    if len(found) != 1 or not isinstance(found[0], cst.AssignTarget):
        return None
    around = ancestors(place.root, found[0])
    assign = around[-1] if around else None
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1 or not isinstance(found[0].target, cst.Name):
        return None
    here, there = enclosing_statement(place.root, name), enclosing_statement(place.root, assign)
    if here is None or there is None or not _same_block(here[1], there[1]):
        return None
    return assign


def _same_block(inner: tuple[Any, ...], outer: tuple[Any, ...]) -> bool:
    """Whether a statement with these nodes around it stands in the block of another, or in a `with` in it."""
    if len(inner) < len(outer) or inner[len(outer) - 1] is not outer[-1]:
        return False
    return all(isinstance(node, (cst.With, cst.IndentedBlock)) for node in inner[len(outer) :])
