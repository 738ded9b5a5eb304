"""What a statement logs: the expression, its parts and their facts, and where a name in it is bound."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.domain.ranks import SCALABLE, State
from trl_lint.domain.values import Kind, Payload, Value
from trl_lint.fixes.support.blocks import enclosing_statement
from trl_lint.fixes.support.edits import Import
from trl_lint.fixes.support.node_types import Path, Replacement, Scope
from trl_lint.fixes.support.reductions import goes_to_host
from trl_lint.fixes.support.scope import Binding, binders, sole_binding
from trl_lint.fixes.support.tree import goes_to_cpu, method_call
from trl_lint.fixes.support.uses import only_shown

if TYPE_CHECKING:
    pass

_HOST_FUNCTIONS = frozenset({"float", "int", "round"})
# Steps that work only on a tensor with one element. Not in torch_ops: a method, and Python functions.
_PROVES_ONE = frozenset({"item", "float", "int", "round"})


@dataclass(frozen=True, slots=True)
class LogSite:
    """What is logged, and the statement and the function (or module) that log it."""

    module: Module
    root: Scope
    statement: cst.CSTNode
    payload: Payload
    what: str

    def value_of(self, node: cst.CSTNode) -> Value | None:
        """The facts of an expression used in the statement, if known."""
        return self.payload.node_values.get(id(node))

    @property
    def expression(self) -> cst.BaseExpression:
        """The logged expression."""
        assert isinstance(self.payload.expression, cst.BaseExpression)
        return self.payload.expression

    @property
    def accelerator(self) -> cst.BaseExpression:
        """The expression for the Accelerator here."""
        return cst.parse_expression(self.payload.accelerator)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The new code before it has a place: which nodes are replaced by what.

    Attributes:
        is_number: Whether a Python number becomes a tensor.
        ends_here: Whether the new code ends in `.item()`.
        moves: Whether a tensor that had been moved to the CPU goes back to the device.
        reduction: How one value is reduced ("" for a ratio).
    """

    replaced: tuple[Replacement, ...]
    is_number: bool
    ends_here: bool = False
    moves: bool = False
    imports: tuple[Import, ...] = ()
    # Lines that have to come first.
    lines: tuple[str, ...] = ()
    reduction: str = ""


def with_expression(place: LogSite, expression: cst.BaseExpression, value: Value) -> LogSite:
    """The same place, but for another logged expression."""
    old = place.payload
    reach = (old.accelerator, old.reducers, old.passed_to)
    return replace(place, payload=Payload(expression, value, old.node_values, old.control, old.function, *reach))


def with_accelerator(place: LogSite, accelerator: str) -> LogSite:
    """The same place, but with another expression for the Accelerator."""
    old = place.payload
    reach = (accelerator, old.reducers, old.passed_to)
    return replace(
        place, payload=Payload(old.expression, old.value, old.node_values, old.control, old.function, *reach)
    )


def core_of(place: LogSite, node: cst.BaseExpression, value: Value) -> tuple[cst.BaseExpression, Value, bool]:
    """Strip steps that only pass the reduced value on.

    Return the expression to gather, its facts, and whether it has one element.
    """
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


def _inner(place: LogSite, node: cst.BaseExpression, value: Value) -> tuple[cst.BaseExpression | None, str]:
    """The operand of the outermost step that commutes with the reduction, and the name of that step."""
    method = method_call(node)
    if method is not None:
        is_host = goes_to_host(method.name) and not method.args
        keeps = is_host or (method.name == "to" and goes_to_cpu(method.args))
        return (method.receiver, method.name) if keeps else (None, "")
    match node:
        case cst.Call(func=cst.Name(value=name), args=[first, *_]) if name in _HOST_FUNCTIONS and not first.star:
            return first.value, name
        case cst.UnaryOperation(operator=cst.Minus(), expression=negated) if value.rank.how in SCALABLE:
            return negated, ""
        case cst.BinaryOperation() if value.rank.how:
            return _one_side(place, node, value), ""
    return None, ""


def _one_side(place: LogSite, node: cst.BinaryOperation, value: Value) -> cst.BaseExpression | None:
    """The side of an operation that contains the reduction, if the other is the same on all ranks."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        mine, theirs = place.value_of(side), place.value_of(other)
        if mine is None or theirs is None or theirs.rank.state is not State.SAME:
            continue
        divides = isinstance(node.operator, cst.Divide) and side is node.right
        if mine.rank.differs and mine.rank.how == value.rank.how and not divides:
            return side
    return None


def is_number(value: Value) -> bool:
    """Whether it is not a torch tensor, so that it has to become one."""
    return value.kind is Kind.NUMBER or value.device == "host"


def may_be_constant(place: LogSite, core: cst.BaseExpression) -> bool:
    """Whether a name is a Python number on some path to a log: `if warm: loss = f(x)`, `else: loss = 0`."""
    if not isinstance(core, cst.Name) or isinstance(ancestors(place.statement, core)[-1], cst.Attribute):
        return False  # a method that a number lacks would fail anyway
    around = set(map(id, ancestors(place.root, core)))
    assignments = [assignment(place.root, each) for each in binders(place.root, [core.value])]
    for index, each in enumerate(assignments):
        above = pairwise(ancestors(place.root, each))
        branches = [inner for outer, inner in above if isinstance(outer, (cst.If, cst.Else))]
        is_constant = isinstance(each, cst.Assign) and isinstance(each.value, (cst.Integer, cst.Float))
        if not is_constant or all(id(branch) in around for branch in branches):
            continue
        behind = (enclosing_statement(place.root, later) for later in assignments[index + 1 :])
        if not any(line is not None and id(line.block) in around for line in behind):
            return True
    return False


def assignment(root: cst.CSTNode, binder: cst.CSTNode) -> cst.CSTNode:
    """The statement by which a name is bound."""
    return ancestors(root, binder)[-1] if isinstance(binder, cst.AssignTarget) else binder


def identifier(what: str) -> str:
    """A metric's key as the start of a name: `token_accuracy` for `eval/token_accuracy`."""
    last = what.replace("…", "").rstrip("/").rpartition("/")[2]
    cleaned = "_".join(re.findall(r"[^\W_]+", last)).lower()
    return cleaned if cleaned.isidentifier() else ""


def binding_of(place: LogSite) -> LogSite | None:
    """The place where a logged name is bound, if it is bound once and used only for logs.

    There the tensor is still available, and a value with several sinks is gathered once.
    """
    core, _, _ = core_of(place, place.expression, place.payload.value)
    bound = only_binding(place, core)
    value = None if bound is None else place.value_of(bound.value)
    if bound is None or value is None:
        return None
    if not only_shown(place.root, bound.name.value, bound.name, numeric=value.kind is Kind.NUMBER):
        return None
    return replace(with_expression(place, bound.value, value), statement=bound.assign)


def only_binding(place: LogSite, name: cst.CSTNode) -> Binding | None:
    """The only assignment of a name, if it is on the path to the statement; None if there is none."""
    bound = sole_binding(place.root, name)
    if bound is None:
        return None
    here, there = enclosing_statement(place.root, name), enclosing_statement(place.root, bound.assign)
    return bound if here is not None and there is not None and _same_block(here.around, there.around) else None


def binding_in_with(place: LogSite, name: cst.CSTNode) -> Binding | None:
    """The only assignment of a name, in the block of its use or in a `with` of that block; None if there is none.

    It always runs before the name is read, but the context of its computation (`with torch.no_grad():`) has ended.
    """
    bound = sole_binding(place.root, name)
    if bound is None:
        return None
    here, there = enclosing_statement(place.root, name), enclosing_statement(place.root, bound.assign)
    return bound if here is not None and there is not None and _same_block(there.around, here.around) else None


def _same_block(inner: Path, outer: Path) -> bool:
    """Whether a statement, given its ancestors, is in the block of another one, or in a `with` of that block."""
    if len(inner) < len(outer) or inner[len(outer) - 1] is not outer[-1]:
        return False
    return all(isinstance(node, (cst.With, cst.IndentedBlock)) for node in inner[len(outer) :])
