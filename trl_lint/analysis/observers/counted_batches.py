"""Batches that an Accelerator counts more than once, as `accumulate` is entered inside of `accumulate`.

Events of a program that accumulates several batches:

    with accelerator.accumulate(unet), accelerator.accumulate(text_encoder):    BatchCountedAgain, at the second call
        ...
    with accelerator.accumulate(unet):
        step(accelerator, batch)                                                BatchCountedAgain, if `step` enters one
    with accelerator.accumulate(unet, text_encoder):                            none: it counts the batch once for both
        ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.gradient_events import BatchCountedAgain
from trl_lint.analysis.program.idioms.accumulation import Entered, creations, entered_around, may_accumulate
from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.provenance import Step
from trl_lint.knowledge.accumulation import ACCUMULATE, TAKES_SEVERAL
from trl_lint.knowledge.library import in_span

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row

_COUNTS_AGAIN = "this `accumulate` counts it again"


class Counts:
    """The calls of `accumulate` of a run, by id, with the truth of a model that may be wrapped.

    entered: those that the run, or what it calls, enters with no other around them.
    """

    def __init__(self) -> None:
        self.calls: dict[int, bool] = {}
        self.entered: dict[int, tuple[Module, cst.Call]] = {}


class CountedBatches(Observer["Frame"]):
    emits = frozenset({BatchCountedAgain})

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if name == ACCUMULATE:
            is_bare = [wrapping is not None and wrapping.is_bare for wrapping in map(wrapping_of, args.positional)]
            frame.trace.notes.of(Counts).calls[id(node)] = not is_bare or not all(is_bare)

    def on_enter(self, frame: Frame, item: cst.BaseExpression, value: Value) -> None:
        counts = frame.trace.notes.of(Counts)
        call = next((each for each in _alternatives(item) if id(each) in counts.calls), None)
        if call is None:
            return
        around = [each for each in _around(frame, call) if _owner(each[1]).deep_equals(_owner(call))]
        if not around and call is item:
            counts.entered[id(call)] = (frame.module, call)
        elif len(around) == 1 and may_accumulate(frame.engine.project, (frame.module,)):
            statement, outer = around[0]
            both = _of_statement(statement, call)
            calls = both or (outer, call)
            _emit(frame, call, calls, statement=statement if both else None)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        inner = run.trace.notes.of(Counts).entered
        if run.trace is frame.trace or not inner:
            return
        around = [call for _, call in _around(frame, node)]
        if not around:
            frame.trace.notes.of(Counts).entered.update(inner)
        elif len(around) == 1:
            for module, call in inner.values():
                is_same = _are_of_one(around[0], frame.module, call, module)
                if is_same and may_accumulate(frame.engine.project, (frame.module, module)):
                    _emit(frame, node, (around[0],), inside=Step(module, call, _COUNTS_AGAIN))


def _alternatives(item: cst.BaseExpression) -> tuple[cst.Call, ...]:
    """The calls one of which a `with` enters: `accumulate(encoder) if args.train_encoder else nullcontext()`."""
    found = (item.body, item.orelse) if isinstance(item, cst.IfExp) else (item,)
    return tuple(each for each in found if isinstance(each, cst.Call))


def _around(frame: Frame, node: cst.CSTNode) -> list[tuple[cst.With, cst.Call]]:
    calls = frame.trace.notes.of(Counts).calls
    return list(entered_around(frame.root, node, lambda call: id(call) in calls)) if calls else []


def _owner(call: cst.Call) -> cst.BaseExpression:
    """The expression for the Accelerator whose method is called."""
    return call.func.value if isinstance(call.func, cst.Attribute) else call.func


def _of_statement(statement: cst.With, call: cst.Call) -> tuple[cst.Call, ...]:
    """All calls of `accumulate` that a `with` enters, if this is one of them."""
    found = [each.item for each in statement.items]
    calls = tuple(each for each in found if isinstance(each, cst.Call) and each.func.deep_equals(call.func))
    return calls if any(each is call for each in calls) else ()


def _are_of_one(call: cst.Call, module: Module, other: cst.Call, elsewhere: Module) -> bool:
    """Whether calls in two functions are of the same Accelerator: one of that name, in files that create only one."""
    files = {id(each): each for each in (module, elsewhere)}.values()
    is_only = sum(len(creations(each)) for each in files) <= 1
    return is_only and last_name(_owner(call)) == last_name(_owner(other))


def _emit(
    frame: Frame,
    node: cst.CSTNode,
    calls: tuple[cst.Call, ...],
    statement: cst.With | None = None,
    inside: Step | None = None,
) -> None:
    takes_several = in_span(TAKES_SEVERAL, frame.engine.versions.get("accelerate")) is not False
    is_wrapped = frame.trace.notes.of(Counts).calls[id(calls[0])]
    frame.emit(BatchCountedAgain, node, entered=Entered(calls, statement, inside, is_wrapped, takes_several))


OBSERVER = CountedBatches()
