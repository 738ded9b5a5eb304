"""Epochs that all have the rows in the same order, as nothing tells the sampler that another one begins.

Events of a program in which no file calls `set_epoch`:

    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for epoch in range(10):             EpochsAlike
        for batch in loader:
            model(batch).backward()

    while True:                         EpochsAlike, in a generator on whose batches its caller trains, or another
        yield from loader               method of the object that keeps it
    while step < 1000:
        try:
            batch = next(batches)
        except StopIteration:           EpochsAlike, if what is computed from the batches is trained on
            batches = iter(loader)
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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

import libcst as cst

from trl_lint.analysis.data_events import EpochsAlike
from trl_lint.analysis.events import Event
from trl_lint.analysis.program.syntax import (
    assigned_once,
    assignments,
    below,
    last_name,
    of_class,
    resolved,
)
from trl_lint.analysis.state.observing import Observer, Reached
from trl_lint.analysis.transfer.data.batch_uses import Use, use_of
from trl_lint.analysis.transfer.data.loader_loops import loaders_in, loaders_kept_by_some, trains
from trl_lint.analysis.transfer.data.mixed_rows import may_mix
from trl_lint.analysis.transfer.data.passes_by_hand import begun_in, is_begun_again, loaders_asked
from trl_lint.analysis.transfer.data.remade_samplers import Remade, is_alike, made_below, made_here
from trl_lint.domain.kinds import LoaderValue
from trl_lint.domain.loader_samplers import ShufflingSampler
from trl_lint.domain.provenance import Step, steps
from trl_lint.knowledge.torch_distributed import COUNTS, DEFINES_SET_EPOCH, DISTRIBUTED_SAMPLER, TELLS_EPOCH

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
_BY_HAND = "a pass over the batches begins here"


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over all batches of a loader, on which a model is trained; the user of a `generator` does so.

    place: the loop, or the call that leads to it, or that begins the pass by hand. mixed: whether the function with the
    loop may mix the rows before. loader: where the loader is made. asked: the calls that get the batches, if it is not
    known as yet what becomes of these. again: whether it begins where an earlier one has ended.
    """

    sampler: ShufflingSampler
    place: cst.CSTNode
    batches: Step
    generator: bool = False
    mixed: bool = False
    loader: Step | None = None
    asked: tuple[cst.CSTNode, ...] = ()
    again: bool = False


class Passes:
    """The passes of a run that no loop over epochs repeats in it, and the samplers that each call of it makes.

    remade: of the latter, by the id of the call that makes a sampler, those of which it is known of what rows.
    """

    def __init__(self) -> None:
        self.open: dict[tuple[int, ShufflingSampler], Pass] = {}
        self.made: dict[int, set[int]] = {}
        self.remade: dict[int, Remade] = {}

    def add(self, found: Pass) -> None:
        self.open[id(found.place), found.sampler] = found


class ByHand:
    """The calls that begin a pass by hand and that a loop of this run has taken into account."""

    def __init__(self) -> None:
        self.seen: set[int] = set()


class TrainedLoaders:
    """The ids of the places of a file that make loaders of whose batches in a generator some function trains."""

    def __init__(self) -> None:
        self.made: set[int] = set()


class EpochOrders(Observer["Frame"]):
    emits = frozenset({EpochsAlike})
    statements = (cst.Expr, cst.For, cst.While)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if base == DISTRIBUTED_SAMPLER:
            notes = frame.trace.notes.of(Passes)
            notes.made.setdefault(id(node), set()).add(id(node))
            if (remade := made_here(node)) is not None:
                notes.remade[id(node)] = remade

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        if run.trace is frame.trace:
            return
        here, called = frame.trace.notes.of(Passes), run.trace.notes.of(Passes)
        if called.made:
            here.made.setdefault(id(node), set()).update(*called.made.values())
        for sampler, call in called.remade.items():
            if (remade := made_below(function, call, node)) is not None:
                here.remade[sampler] = remade
        for each in called.open.values():
            if not (each.generator or each.mixed):
                asked = (node,) if each.asked else ()
                here.add(Pass(each.sampler, node, each.batches, asked=asked, again=each.again))

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        for passed_on in of_class(statement, cst.From) if isinstance(statement, cst.Expr) else ():
            for each in _looped_over(frame, passed_on.item):
                _add(frame, statement, frame.step(passed_on.item, _BATCHES), each, True)
        if not isinstance(statement, (cst.For, cst.While)):
            return
        _note_begun(frame, statement.body)
        _close(frame, statement, _is_over_epochs(frame, statement))
        loaders = list(_looped_over(frame, statement.iter)) if isinstance(statement, cst.For) else []
        if not loaders or not isinstance(statement, cst.For):
            return
        is_training = trains(frame, statement)
        if is_training or of_class(statement.body, cst.Yield):
            for each in loaders:
                _add(frame, statement, frame.step(statement.iter, _BATCHES), each, not is_training)

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        """What becomes of the batches of passes that no loop here repeats; and of those of generators."""
        _note_begun(frame, frame.root)
        notes = frame.trace.notes.of(Passes)
        for key, found in list(notes.open.items()):
            if found.asked:
                use = _use_of(frame, found)
                if use is Use.TRAINED:
                    notes.open[key] = replace(found, asked=())
                elif use is not Use.RETURNED:
                    del notes.open[key]
        for place, made in loaders_asked(frame):
            if use_of(frame, place) is Use.TRAINED:
                _note_trained(frame, made)

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        """Batches that a generator yields are trained on if its caller trains."""
        if isinstance(event, EpochsAlike) and event.generator and reached.trains:
            return replace(event, generator=False)
        return event

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Remove the loops of programs in which something may tell the sampler the epoch."""
        if not any(isinstance(event, EpochsAlike) for event in events):
            return events
        files = list(imported)
        return [each for each in events if not isinstance(each, EpochsAlike) or _is_wrong(each, files)]


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


def _close(frame: Frame, loop: _Loop, is_over_epochs: bool) -> None:
    """Report the passes that a loop repeats, unless each of them gets a sampler of its own, of other rows.

    A loop that is not over epochs repeats only those that begin where an earlier one has ended.
    """
    notes = frame.trace.notes.of(Passes)
    inside = {id(each) for each in below(loop.body)}
    made = {each for place, samplers in notes.made.items() if place in inside for each in samplers}
    for key, found in list(notes.open.items()):
        if id(found.place) not in inside or not (is_over_epochs or found.again):
            continue
        use = _use_of(frame, found) if found.asked else Use.TRAINED
        if use is Use.RETURNED:
            continue
        del notes.open[key]
        is_new = id(found.sampler.call) in made | inside
        if is_new and not _is_made_alike(frame, loop, found.sampler):
            continue
        if use is not Use.OTHER and not may_mix(frame, loop.body, found.sampler):
            _emit(frame, loop, found, use is Use.YIELDED, is_new)


def _is_made_alike(frame: Frame, loop: _Loop, sampler: ShufflingSampler) -> bool:
    remade = frame.trace.notes.of(Passes).remade.get(id(sampler.call))
    return remade is not None and is_alike(frame.module.tree, loop, remade)


def _emit(frame: Frame, loop: _Loop, found: Pass, is_yielded: bool, is_new: bool) -> None:
    sampler, head = found.sampler, loop.iter if isinstance(loop, cst.For) else loop.test
    frame.emit(
        EpochsAlike,
        found.place if found.again else head,
        tag=id(sampler.call),
        loop=loop,
        sampler=Step(sampler.module, sampler.call, _MADE, found.batches),
        setter="" if is_new else _setter(frame, sampler),
        batches=found.batches,
        generator=found.generator or is_yielded,
        again=found.again,
        loader=found.loader,
        remade=is_new,
    )


def _setter(frame: Frame, sampler: ShufflingSampler) -> str:
    """The expression for a sampler in this function: a name that only it has, or only its loader; "" without one."""
    for target, value in assignments(frame.root):
        if not isinstance(target, cst.Name) or assigned_once(frame.root, target.value) is not value:
            continue
        if value is sampler.call:
            return f"{target.value}.sampler" if sampler.in_loader else target.value
        if isinstance(value, cst.Call) and any(
            each.value is sampler.call and each.keyword is not None and each.keyword.value == "sampler"
            for each in value.args
        ):
            return f"{target.value}.sampler"
    return ""


# --- passes over a loader -------------------------------------------------------------------------------


def _looped_over(frame: Frame, node: cst.BaseExpression) -> Iterator[LoaderValue]:
    """The loaders with a sampler that shuffles that an expression loops over."""
    found = (*loaders_in(frame, node), *loaders_kept_by_some(frame, node))
    return (each for each in found if isinstance(each.sampler, ShufflingSampler))


def _note_begun(frame: Frame, code: cst.CSTNode) -> None:
    """Note the passes that a piece of code begins by hand, unless a loop in it has them."""
    seen = frame.notes.of(ByHand).seen
    for loader, begins, asked in begun_in(frame, code):
        if id(begins) in seen or not asked:
            continue
        if code is not frame.root:
            seen.add(id(begins))
        again = is_begun_again(frame, begins, asked)
        if again is not None:
            _add(frame, begins, frame.step(begins, _BY_HAND), loader, False, asked, again)


def _add(
    frame: Frame,
    place: cst.CSTNode,
    batches: Step,
    loader: LoaderValue,
    generator: bool,
    asked: tuple[cst.CSTNode, ...] = (),
    again: bool = False,
) -> None:
    sampler = loader.sampler
    assert isinstance(sampler, ShufflingSampler)
    is_mixed = not isinstance(place, cst.Expr) and may_mix(frame, frame.root, sampler)
    made = None if loader.batch is None else loader.batch.provenance
    found = Pass(sampler, place, batches, generator, is_mixed, made, asked, again)
    frame.trace.notes.of(Passes).add(found)


def _use_of(frame: Frame, found: Pass) -> Use:
    """The most that becomes of the batches of a pass."""
    return max((use_of(frame, each) for each in found.asked), key=lambda each: each.value)


# --- who tells the sampler ------------------------------------------------------------------------------


def _is_wrong(event: EpochsAlike, imported: Iterable[Module]) -> bool:
    """Whether the batches of a generator are trained on, and nothing may tell the sampler the epoch."""
    return (not event.generator or _is_trained_on(event.loader)) and not _tells_epoch(event, imported)


def _note_trained(frame: Frame, made: Iterable[Step]) -> None:
    for each in made:
        module = cast("Module", each.module)
        module.notes.of(TrainedLoaders).made.add(id(each.node))
        frame.engine.note_stored(TrainedLoaders, module, id(each.node))


def _is_trained_on(loader: Step | None) -> bool:
    """Whether some function trains on the batches of a loader that it gets from a generator."""
    notes = ((cast("Module", each.module).notes, id(each.node)) for each in steps(loader))
    return any(node in each.of(TrainedLoaders).made for each, node in notes)


def _tells_epoch(event: EpochsAlike, imported: Iterable[Module]) -> bool:
    """Whether a file that the program may consist of tells a sampler the epoch, as far as its text says."""
    files = {id(each): each for each in (event.module, event.sampler.module, event.batches.module, *imported)}
    if any(each.mentions(TELLS_EPOCH) and _tells_where_called(each.code) for each in files.values()):
        return True
    stems = {re.escape(each.path.stem.encode()) for each in (event.module, event.sampler.module, event.batches.module)}
    imports = rb"(?s)\b(?:from|import)\b[^\n]*\b(?:" + b"|".join(sorted(stems)) + rb")\b.*(?:" + TELLS_EPOCH + rb")"
    return event.module.related_mentions(imports, DEFINES_SET_EPOCH) or event.module.program_mentions(
        TELLS_EPOCH, DEFINES_SET_EPOCH
    )


def _tells_where_called(code: bytes) -> bool:
    """Whether the code tells an epoch anywhere but in the methods that are called for that: `def set_epoch(…)`."""
    return re.search(TELLS_EPOCH, re.sub(DEFINES_SET_EPOCH, b"", code)) is not None


OBSERVER = EpochOrders()
