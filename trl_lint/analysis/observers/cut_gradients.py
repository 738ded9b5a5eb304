"""Losses that are computed from gathered copies of what is trained, through which no gradient goes back.

Events of a training loop in which `features = model(batch)`:

    rows = accelerator.gather(features)              GradientCut, if a backward pass starts from a loss of `rows`
    dist.all_gather(rows, features)                  the same
    rows[rank] = features                            none any more: the own rows have a gradient again
    rows = nn.functional.all_gather(features)        none: it has a backward pass
    logged = accelerator.gather(loss).mean()         none: no backward pass starts from it
    with torch.no_grad(): rows = gather(features)    none: nobody expects a gradient there
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.gradient_events import GradientCut
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.values import Kind
from trl_lint.knowledge.schema import BACKWARD, Function
from trl_lint.knowledge.transformers import LOSSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trl_lint.analysis.events import Event
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Collective, Row


# The entry of a dict of results that a library trains with.
_LOSS = "loss"


class Cut(NamedTuple):
    """The backward pass that starts from a loss of gathered copies. whole: see `Gradient`."""

    loss: Step
    whole: bool


class Cuts:
    """The collectives of a file, by the id of their node, from whose results a loss is computed."""

    def __init__(self) -> None:
        self.losses: dict[int, Cut] = {}


class CutGradients(Observer["Frame"]):
    emits = frozenset({GradientCut})
    statements = (cst.Return,)

    def on_collective(self, frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> None:
        argument = args.node(*row.operand) if isinstance(row.operand, tuple) else None
        is_gather = row.result == "gathered" and isinstance(node, cst.Call)
        if is_gather and argument is not None and not is_test(frame.function):
            frame.emit(GradientCut, node, argument=argument.value)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name == BACKWARD.kind:
            _note(frame, receiver, node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        loss = args.get(0, "loss") if isinstance(row, Function) and row.synchronises is BACKWARD else None
        if loss is not None:
            _note(frame, loss, node)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        """A library runs the backward pass of what these methods return."""
        function, cls = frame.function, frame.cls
        is_loss = function is not None and function.name in LOSSES and cls is not None and any(cls.library_bases())
        if not is_loss or not isinstance(statement, cst.Return) or statement.value is None:
            return
        for each in _losses_in(frame, frame.value_of(statement.value)):
            _note(frame, each, statement)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """The collectives from whose results a loss is computed, wherever that is."""
        return [found for each in events if (found := _with_loss(each)) is not None]


def _losses_in(frame: Frame, returned: Value) -> list[Value]:
    """What a library trains with, of `loss`, `(loss, outputs)` or `{"loss": loss, "features": features}`."""
    if returned.kind is Kind.TUPLE:
        return [*returned.items[:1]]
    if returned.kind is Kind.CONTAINER:
        return [each for cell in frame.memory.cells(returned) if (each := cell.entries.get(_LOSS)) is not None]
    return [returned]


def _with_loss(event: Event) -> Event | None:
    if not isinstance(event, GradientCut):
        return event
    cut = event.module.notes.of(Cuts).losses.get(id(event.node))
    return None if cut is None else replace(event, loss=cut.loss, whole=cut.whole)


def _note(frame: Frame, loss: Value, node: cst.CSTNode) -> None:
    """A backward pass starts from a loss here."""
    if loss.gradient is None or loss.gradient.cut is None:
        return
    cut = loss.gradient.cut
    module = frame.engine.project.module(cut.module.path)
    if module is not None and id(cut.node) not in module.notes.of(Cuts).losses:
        module.notes.of(Cuts).losses[id(cut.node)] = Cut(frame.step(node, "the loss"), loss.gradient.whole)
    frame.engine.note_stored(Cuts, cut.node)


OBSERVER = CutGradients()
