"""Metrics of an evaluation that are shown to the user: each rank has those of its own batches.

Events of a program in which gradients are off and the loader is a prepared one:

    for batch in loader:
        hits = (model(batch["x"]).argmax(-1) == batch["y"]).float().mean()
        print(hits)                       none: it shows the progress of the rank
        accuracy.append(hits.item())
    mean = sum(accuracy) / len(accuracy)
    print(f"accuracy {mean}")             MetricShown(sink="print", what="mean")
    figures = {"accuracy": mean}
    print(figures)                        the same, for what the dict holds
    print(figures["accuracy"])            none: it has been shown
    print(rank, mean)                     none: it says which rank the metric is from
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Event, Logged, MetricShown
from trl_lint.analysis.program.syntax import ancestors, below
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.provenance import Evaluated, steps
from trl_lint.domain.ranks import AVERAGES, METRIC, Origin, State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.loggers import SHOWS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.knowledge.schema import Row

# The kinds of synchronisation points at which values are exchanged.
_EXCHANGES = frozenset({"gathered", "objects", "reduced"})
# Longer expressions are not quoted.
_LONGEST = 40


class ShownMetrics(Observer["Frame"]):
    emits = frozenset({MetricShown})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in SHOWS:
            _emit(frame, name, node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if name in SHOWS and receiver is not None:
            _emit(frame, name, node)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Report a metric once per function, and not if a tracker logs it as well: that is reported there."""
        reported: set[tuple[int, int, str]] = {
            (id(event.function), id(loop), "")
            for event in events
            if isinstance(event, Logged)
            for loop in _loops(event.value)
        }
        remaining = []
        for event in events:
            if isinstance(event, MetricShown):
                place = (id(event.function), id(event.loop))
                if any((*place, name) in reported for name in ("", event.what, event.what.partition("[")[0])):
                    continue
                reported.add((*place, event.what or " "))
            remaining.append(event)
        return remaining


def _emit(frame: Frame, name: str, node: cst.CSTNode) -> None:
    if not isinstance(node, cst.Call):
        return
    printed = [(each, frame.node_values[id(each)]) for each in _printed(node) if id(each) in frame.node_values]
    if any(Origin.RANK in value.rank.origins for _, value in printed):
        return
    for expression, shown in printed:
        value = next(filter(_is_figure, _values_in(frame, shown)), None)
        loop = None if value is None else next(_loops(value), None)
        if value is None or loop is None or any(each is node for each in below(loop)):
            continue
        if _is_reduced_conditionally(frame, loop):
            continue
        text = frame.module.tree.code_for_node(expression)
        what = text if len(text) <= _LONGEST and "\n" not in text else ""
        sink = name.removeprefix("builtins.")
        frame.emit(MetricShown, node, tag=what, sink=sink, what=what, value=value, loop=loop)


def _values_in(frame: Frame, shown: Value) -> Iterator[Value]:
    """A value that is shown, and what a dict that is shown whole holds: `print(metric.compute())`."""
    yield shown
    for cell in frame.memory.cells(shown):
        if cell.shape == "dict":
            yield from cell.values()


def _loops(value: Value) -> Iterator[cst.CSTNode]:
    for step in steps(value.provenance):
        if isinstance(step, Evaluated) and step.loop is not None:
            yield step.loop


def _is_reduced_conditionally(frame: Frame, loop: cst.CSTNode) -> bool:
    """Whether the function around a loop reduces something under a condition, perhaps for several ranks only."""
    for point in frame.sync_points:
        places = [point.node, *(step.node for step in steps(point.via))]
        if point.kind in _EXCHANGES and any(_is_conditional_outside(frame, loop, place) for place in places):
            return True
    return False


def _is_conditional_outside(frame: Frame, loop: cst.CSTNode, place: cst.CSTNode) -> bool:
    """Whether a place is under an `if` in the function of a loop, and not inside the loop. Both are in one file."""
    tree = frame.module.tree
    around, outer = ancestors(tree, place), ancestors(tree, loop)
    functions = [each for each in outer if isinstance(each, cst.FunctionDef)]
    if functions and not any(each is functions[-1] for each in around):
        return False
    inner = [each for each in around if not any(each is other for other in outer)]
    return any(isinstance(each, cst.If) for each in inner) and not any(each is loop for each in inner)


def _is_figure(value: Value) -> bool:
    """Whether it is a mean, a ratio or a metric, and not a count of this rank's work."""
    if value.kind is not Kind.NUMBER and not (value.kind is Kind.TENSOR and value.scalar):
        return False
    rank = value.rank
    if rank.origins != Origin.DATA or value.dtype in ("bool", "int"):
        return False
    return rank.how in AVERAGES | {METRIC} or (rank.state is State.LOCAL and not rank.how)


def _printed(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions whose values a call shows, also those inside strings."""
    match node:
        case cst.Call(func=cst.Attribute(value=cst.SimpleString(), attr=cst.Name("format"))):
            yield from (arg.value for arg in node.args)
        case cst.Call():
            for arg in node.args:
                yield from _printed_by(arg.value)


def _printed_by(expression: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    match expression:
        case cst.FormattedString():
            yield from (part.expression for part in expression.parts if isinstance(part, cst.FormattedStringExpression))
        case cst.ConcatenatedString():
            yield from _printed_by(expression.left)
            yield from _printed_by(expression.right)
        case cst.BinaryOperation(left=cst.SimpleString(), operator=cst.Modulo(), right=cst.Tuple(elements=elements)):
            yield from (element.value for element in elements)
        case cst.BinaryOperation(left=cst.SimpleString(), operator=cst.Modulo()):
            yield expression.right
        case cst.Call(func=cst.Attribute(value=cst.SimpleString(), attr=cst.Name("format"))):
            yield from _printed(expression)
        case _:
            yield expression


OBSERVER = ShownMetrics()
