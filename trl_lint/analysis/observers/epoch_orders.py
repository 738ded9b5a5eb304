"""Epochs that all have the rows in the same order, as nothing tells the sampler that another one begins.

Events of a program in which no file calls `set_epoch`:

    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for epoch in range(10):             EpochsAlike
        for batch in loader:
            model(batch).backward()

    while True:                         EpochsAlike, in a generator on whose batches its caller trains
        yield from loader
    for epoch in range(10):             EpochsAlike, if the function loops over the loader and trains
        train(model, loader)
    for epoch in range(10):             none: no gradients are computed
        evaluate(model, loader)
    for epoch in range(10):             none: the indices are the same, and mean other rows
        loader.dataset.mix()
        train(model, loader)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from trl_lint.analysis.events import EpochsAlike, Event
from trl_lint.analysis.program.syntax import assigned_once, assignments, below, last_name, of_class, resolved
from trl_lint.analysis.state.observing import Observer, Reached
from trl_lint.analysis.transfer.data.loader_loops import loaders_in, trains
from trl_lint.analysis.transfer.data.mixed_rows import may_mix
from trl_lint.domain.loader_samplers import ShufflingSampler
from trl_lint.domain.provenance import Step
from trl_lint.knowledge.torch_distributed import COUNTS, DISTRIBUTED_SAMPLER, TELLS_EPOCH

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun
    from trl_lint.domain.control import Control

_Loop: TypeAlias = cst.For | cst.While
_MADE = "the sampler is made here, and shuffles with the same seed until `set_epoch` tells it another epoch"
_BATCHES = "all batches of an epoch are gone through here"


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over all batches of a loader, on which a model is trained; the user of a `generator` does so.

    place: the loop, or the call that leads to it. mixed: whether the function with the loop may mix the rows before.
    """

    sampler: ShufflingSampler
    place: cst.CSTNode
    batches: Step
    generator: bool = False
    mixed: bool = False


class Passes:
    """The passes of a run that no loop over epochs repeats in it, and the samplers that each call of it makes."""

    def __init__(self) -> None:
        self.open: dict[tuple[int, ShufflingSampler], Pass] = {}
        self.made: dict[int, set[int]] = {}

    def add(self, found: Pass) -> None:
        self.open[id(found.place), found.sampler] = found


class EpochOrders(Observer["Frame"]):
    emits = frozenset({EpochsAlike})

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if base == DISTRIBUTED_SAMPLER:
            frame.trace.notes.of(Passes).made.setdefault(id(node), set()).add(id(node))

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        if run.trace is frame.trace:
            return
        here, called = frame.trace.notes.of(Passes), run.trace.notes.of(Passes)
        if called.made:
            here.made.setdefault(id(node), set()).update(*called.made.values())
        for each in called.open.values():
            if not (each.generator or each.mixed):
                here.add(Pass(each.sampler, node, each.batches))

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        for passed_on in of_class(statement, cst.From) if isinstance(statement, cst.Expr) else ():
            for each in _looped_over(frame, passed_on.item):
                batches = frame.step(passed_on.item, _BATCHES)
                frame.trace.notes.of(Passes).add(Pass(each, statement, batches, generator=True))
        if not isinstance(statement, (cst.For, cst.While)):
            return
        if _is_over_epochs(frame, statement):
            _close(frame, statement)
        samplers = list(_looped_over(frame, statement.iter)) if isinstance(statement, cst.For) else []
        if not samplers or not isinstance(statement, cst.For):
            return
        is_training = trains(frame, statement)
        if is_training or of_class(statement.body, cst.Yield):
            batches = frame.step(statement.iter, _BATCHES)
            for each in samplers:
                mixed = may_mix(frame, frame.root, each)
                frame.trace.notes.of(Passes).add(Pass(each, statement, batches, not is_training, mixed))

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        """Batches that a generator yields are trained on if its caller trains."""
        is_used = not isinstance(event, EpochsAlike) or not event.generator or reached.trains
        return event if is_used else None

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Remove the loops of programs in which something may tell the sampler the epoch."""
        if not any(isinstance(event, EpochsAlike) for event in events):
            return events
        files = list(imported)
        return [each for each in events if not (isinstance(each, EpochsAlike) and _tells_epoch(each, files))]


# --- loops over epochs ----------------------------------------------------------------------------------


def _is_over_epochs(frame: Frame, loop: _Loop) -> bool:
    """Whether a loop does the same again and again, by a condition or a count, and not just once."""
    if isinstance(loop, cst.While):
        return True
    counts = [each for each in _calls_in(resolved(frame.root, loop.iter)) if last_name(each.func) in COUNTS]
    return bool(counts) and not any(_is_one(frame, each) for each in counts)


def _calls_in(node: cst.BaseExpression) -> Iterator[cst.Call]:
    return (each for each in (node, *below(node)) if isinstance(each, cst.Call))


def _is_one(frame: Frame, count: cst.Call) -> bool:
    """Whether a call counts to one: `range(1)`, `range(0, 1)`."""
    values = [frame.value_of(each.value).const for each in count.args if each.keyword is None]
    return values in ([0], [1], [0, 1], [1, 2])


def _close(frame: Frame, loop: _Loop) -> None:
    """Report the passes that a loop over epochs repeats, unless each of them gets a sampler of its own."""
    notes = frame.trace.notes.of(Passes)
    inside = {id(each) for each in below(loop.body)}
    made = {each for place, samplers in notes.made.items() if place in inside for each in samplers}
    for key, found in list(notes.open.items()):
        if id(found.place) not in inside:
            continue
        del notes.open[key]
        sampler = found.sampler
        if id(sampler.call) not in made | inside and not may_mix(frame, loop.body, sampler):
            frame.emit(
                EpochsAlike,
                loop.iter if isinstance(loop, cst.For) else loop.test,
                tag=id(sampler.call),
                loop=loop,
                sampler=Step(sampler.module, sampler.call, _MADE, found.batches),
                setter=_setter(frame, sampler),
                batches=found.batches,
                generator=found.generator,
            )


def _setter(frame: Frame, sampler: ShufflingSampler) -> str:
    """The expression for a sampler in this function: a name that only it has, or only its loader; "" without one."""
    for target, value in assignments(frame.root):
        if not isinstance(target, cst.Name) or assigned_once(frame.root, target.value) is not value:
            continue
        if value is sampler.call:
            return target.value
        if isinstance(value, cst.Call) and any(
            each.value is sampler.call and each.keyword is not None and each.keyword.value == "sampler"
            for each in value.args
        ):
            return f"{target.value}.sampler"
    return ""


# --- passes over a loader -------------------------------------------------------------------------------


def _looped_over(frame: Frame, node: cst.BaseExpression) -> Iterator[ShufflingSampler]:
    """The samplers that shuffle of the loaders that an expression loops over."""
    for loader in loaders_in(frame, node):
        if isinstance(loader.sampler, ShufflingSampler):
            yield loader.sampler


# --- who tells the sampler ------------------------------------------------------------------------------


def _tells_epoch(event: EpochsAlike, imported: Iterable[Module]) -> bool:
    """Whether a file that the program may consist of tells a sampler the epoch, as far as its text says."""
    files = {id(each): each for each in (event.module, event.sampler.module, event.batches.module, *imported)}
    if any(each.mentions(TELLS_EPOCH) for each in files.values()):
        return True
    stems = {re.escape(each.path.stem.encode()) for each in (event.module, event.sampler.module, event.batches.module)}
    imports = rb"(?s)\b(?:from|import)\b[^\n]*\b(?:" + b"|".join(sorted(stems)) + rb")\b.*(?:" + TELLS_EPOCH + rb")"
    return event.module.project_mentions(imports) or event.module.program_mentions(TELLS_EPOCH)


OBSERVER = EpochOrders()
