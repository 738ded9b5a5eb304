"""Steps that Lightning skips on some ranks, so that these lack the backward pass in which the others wait.

Events of a `training_step` that ends in `return loss`:

    if batch["mask"].sum() == 0: return     Divergence: Lightning runs no backward pass
    if torch.isnan(loss): return            Divergence, wherever the loss comes from: the gradients are averaged later
    if batch_idx > self.limit: return       none: on all ranks, or on none
    if torch.isnan(loss): return loss * 0   none: a backward pass starts from it
    except RuntimeError: return None        Divergence, if the `try` makes the loss: memory runs out on some ranks

Recent releases of Lightning raise an error there (2.6.0 does). A module that runs its backward passes itself
(`automatic_optimization = False`) may return what it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.events import Divergence
from trl_lint.analysis.program.idioms.handled_errors import catches
from trl_lint.analysis.program.idioms.path_conditions import alternatives
from trl_lint.analysis.program.syntax import (
    assignments,
    callee_of,
    inwards,
    is_literal_none,
    last_name,
    names_in,
    of_class,
    resolved,
    self_attribute,
)
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import SyncPoint, place_of
from trl_lint.knowledge.heuristics import MAY_REDUCE, NOT_A_NUMBER
from trl_lint.knowledge.lightning import AUTOMATIC_BACKWARD, BY_HAND, KNOWS_PROCESSES, TRAINS, starts_from_result
from trl_lint.knowledge.python import OUT_OF_MEMORY
from trl_lint.knowledge.schema import BACKWARD

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.frame import Frame


class Left(NamedTuple):
    """A `return` without a loss, the condition by which ranks get there, and its result on them.

    caught: whether that is an exception.
    """

    statement: cst.Return
    condition: Control
    holds: bool
    caught: bool = False


class Returns:
    """The ways out of a run of a step: without a loss, on some ranks; and with one."""

    def __init__(self) -> None:
        self.without: dict[int, Left] = {}
        self.with_loss: list[SyncPoint] = []

    def losses(self) -> set[str]:
        """The names of what the step returns: `return loss`, `return {"loss": loss}`."""
        values = [each.node.value for each in self.with_loss if isinstance(each.node, cst.Return)]
        parts = [part for each in values for part in (each.elements if isinstance(each, cst.Dict) else ())]
        return {each.value for each in (*values, *(part.value for part in parts)) if isinstance(each, cst.Name)}


class SkippedSteps(Observer["Frame"]):
    emits = frozenset({Divergence})
    statements = (cst.Return,)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        if not isinstance(statement, cst.Return) or not _is_step(frame):
            return
        returns = frame.notes.of(Returns)
        if not _is_none(statement.value):
            point = SyncPoint(statement, AUTOMATIC_BACKWARD, BACKWARD.kind, before)
            returns.with_loss.append(point)
        elif (left := _left_under(frame, statement, before)) is not None:
            returns.without[id(statement)] = left

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        if not _is_step(frame):
            return
        returns = frame.notes.of(Returns)
        for statement, found, holds, caught in returns.without.values() if returns.with_loss else ():
            is_known = found.uniformity is not Uniformity.UNKNOWN
            # Of a loss it does not matter that noise is drawn for it.
            is_plain = is_known and Origin.RNG not in found.rank.origins
            own = None if is_plain else _of_loss(frame, found, returns.losses())
            condition = own or (found if is_known else None)
            if condition is None or not (caught or condition.rank.origins & Origin.DATA):
                continue
            frame.emit(
                Divergence,
                statement,
                condition=condition.provenance,
                holds=holds,
                sync_point=returns.with_loss[-1],
                after=True,
                exit="return",
                caught=caught,
                origins=condition.rank.origins,
                node_values=frame.node_values,
            )


def _is_step(frame: Frame) -> bool:
    """Whether Lightning calls this function, on several processes, and starts a backward pass from its result.

    Or that of a method whose result the step returns: `return self.guarded_step(batch)`.
    """
    function, cls = frame.function, frame.cls
    if function is None or cls is None:
        return False
    step = cls.find(TRAINS)
    if step is None or not starts_from_result(step.name, cls.library_bases()):
        return False
    if function is not step and function.name not in {self_attribute(each) for each in _returned(step)}:
        return False
    modules = [each.module for each in cls.project_lineage()]
    return any(each.mentions(KNOWS_PROCESSES) for each in modules) and not any(
        each.mentions(BY_HAND) for each in modules
    )


def _returned(step: FunctionInfo) -> Iterator[cst.BaseExpression]:
    """What a step calls, and returns the result of."""
    values = (resolved(step.node, each.value) for each in of_class(step.node, cst.Return) if each.value is not None)
    return (each.func for each in values if isinstance(each, cst.Call))


def _is_none(value: cst.BaseExpression | None) -> bool:
    return value is None or is_literal_none(value)


def _left_under(frame: Frame, statement: cst.Return, before: Control) -> Left | None:
    """The innermost `if` around a `return`, or the `except` that asks in it for what it has caught, if ranks may differ
    in that.
    """
    by_place = {id(place_of(each)): each for each in before.conditions}
    around = list(inwards(frame.root, statement))[::-1]
    handler = next((each for each, _ in around if isinstance(each, cst.ExceptHandler)), None)
    for outer, inner in around:
        if isinstance(outer, cst.If) and not _asks_for_error(outer.test, handler):
            condition = by_place.get(id(outer.test))
            return None if condition is None else Left(statement, condition, inner is outer.body)
        if isinstance(outer, (cst.Try, cst.TryStar)) and inner is handler:
            is_met = handler is not None and catches(handler, OUT_OF_MEMORY) and _makes_loss(frame.root, outer.body)
            condition = by_place.get(id(outer)) if is_met else None
            return None if condition is None else Left(statement, condition, holds=True, caught=True)
    return None


def _asks_for_error(test: cst.BaseExpression, handler: cst.ExceptHandler | None) -> bool:
    """Whether a test asks for the error that is handled: `"out of memory" in str(e)`."""
    name = None if handler is None or handler.name is None else handler.name.name
    return isinstance(name, cst.Name) and name.value in names_in(test)


def _makes_loss(root: cst.CSTNode, tried: cst.BaseSuite) -> bool:
    """Whether a `try` returns something, or makes what the step returns after it."""
    returned = [each.value for each in of_class(root, cst.Return) if each.value is not None]
    made = {name for target, _ in assignments(tried) for name in names_in(target)}
    return bool(of_class(tried, cst.Return)) or any(made & names_in(each) for each in returned)


def _of_loss(frame: Frame, condition: Control, losses: set[str]) -> Control | None:
    """An unknown condition, if it asks whether a loss that the step returns is a number: each rank's own is.

    What is returned is seldom reduced: each rank starts its backward pass from it, and the gradients are averaged.
    """
    test = place_of(condition)
    own = {each for each in losses if not _may_be_reduced(frame.root, each)}
    if test is None or not all(_asks_for_number(each, own) for each in alternatives(test)):
        return None
    step = frame.step(test, "`{}` asks for this rank's own loss, which the step returns")
    return replace(condition, uniformity=Uniformity.DIVERGENT, rank=ranks.LOCAL, provenance=step)


def _may_be_reduced(root: cst.CSTNode, loss: str) -> bool:
    """Whether a loss may be reduced, by the name of what is called: `loss = reduced(loss)`, `sync_(loss)`."""
    made = [value for target, value in assignments(root) if loss in names_in(target)]
    alone = [each.value for each in of_class(root, cst.Expr) if loss in names_in(each.value)]
    calls = (call for each in (*made, *alone) for call in of_class(each, cst.Call))
    return any(MAY_REDUCE.fits(last_name(callee_of(call))) for call in calls)


def _asks_for_number(test: cst.CSTNode, losses: set[str]) -> bool:
    """`torch.isnan(loss)`, `not loss.isfinite().all()`, for a loss with one of these names."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=negated):
            return _asks_for_number(negated, losses)
        case cst.Call(func=cst.Attribute(value=tested, attr=cst.Name("all" | "any" | "item")), args=[]):
            return _asks_for_number(tested, losses)
        case cst.Call(func=function, args=arguments) if NOT_A_NUMBER.fits(last_name(function)):
            return any(isinstance(each, cst.Name) and each.value in losses for each in _objects(function, arguments))
    return False


def _objects(function: cst.BaseExpression, arguments: Sequence[cst.Arg]) -> Iterator[cst.BaseExpression]:
    """What a call is about: its arguments, and the object whose method is called, without `.item()` and `.detach()`."""
    owners = [function.value] if isinstance(function, cst.Attribute) else []
    for each in (*owners, *(argument.value for argument in arguments)):
        while isinstance(each, cst.Call) and isinstance(each.func, cst.Attribute) and not each.args:
            each = each.func.value
        yield each


OBSERVER = SkippedSteps()
