"""Loaders that give every rank all rows of a data set, on whose batches a wrapped model is trained.

Events of a program in which no code shares rows out by the rank:

    model = DistributedDataParallel(net)
    loader = DataLoader(Rows(path), shuffle=True)       UnshardedData, as the loop below trains on it
    for batch in loader:
        model(batch).backward()

    for batch in DataLoader(Rows(path)):                none: no gradients are computed
        model(batch)

A Trainer does not prepare what its method returns:

    class Mine(Trainer):
        def get_train_dataloader(self):
            return DataLoader(Rows(path))               UnshardedData
            return self.accelerator.prepare(…)          none
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import libcst as cst

from trl_lint.analysis.events import Event, UnshardedData
from trl_lint.analysis.program.definitions.engines_of_one import wraps_for_one
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.idioms.samplers_of_others import code_without
from trl_lint.analysis.program.project.import_lines import IMPORT_LINES
from trl_lint.analysis.program.syntax import callee_of, definitions_around, last_name, of_class
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data import loaders_of_trainers
from trl_lint.analysis.transfer.data.loader_loops import loaders_in, traces_called_in, trains
from trl_lint.analysis.transfer.data.whole_data import makers
from trl_lint.analysis.transfer.models.wrapped_models import may_be_wrapped
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.loader_samplers import NoSampler
from trl_lint.domain.model_roles import is_data_parallel, is_replicated
from trl_lint.domain.provenance import Step, WrappedHere, steps
from trl_lint.domain.values import Value
from trl_lint.knowledge import library
from trl_lint.knowledge.engines import ENGINE
from trl_lint.knowledge.heuristics import COMPUTES_GRADIENTS, SHARES_ROWS
from trl_lint.knowledge.random_draws import TRAINER
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER, SHARDS_MODELS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control

_BATCHES = "all batches of the loader are trained on here"
_BATCHES_OF_TRAINER = "the Trainer trains on all batches of the loader, which it does not prepare"
_LOADER = "the loader is made here, without a sampler: it goes through all rows on each rank"
_SAMPLER = re.compile(rb"\b%b\b" % DISTRIBUTED_SAMPLER.rpartition(".")[2].encode())


class WrappedRuns:
    """The calls of wrapped models in a run: their ids, each with whether `prepare` has wrapped the model.

    wraps: whether the run itself wraps one in a way that its value does not show.
    """

    def __init__(self) -> None:
        self.calls: dict[int, bool] = {}
        self.wraps = False


class UnshardedLoaders(Observer["Frame"]):
    emits = frozenset({UnshardedData})
    statements = (cst.For, cst.Return)

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in SHARDS_MODELS:
            frame.trace.notes.of(WrappedRuns).wraps = True

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if base in SHARDS_MODELS:
            frame.trace.notes.of(WrappedRuns).wraps = True
        elif base and isinstance(node, cst.Call) and library.is_subclass(base, TRAINER, frame.engine.versions):
            cls = class_of(frame.engine.settle(frame.engine.evaluate(frame, node.func)))
            sampling = None if cls is None else loaders_of_trainers.given(cls, args)
            if cls is not None and sampling is not None:
                _emit_of_trainer(frame, node, sampling, cls.module)

    def on_model_call(self, frame: Frame, model: Value, node: cst.CSTNode) -> None:
        if _is_shared(model) and not _is_of_other_class(frame, model, node):
            frame.trace.notes.of(WrappedRuns).calls[id(node)] = not is_replicated(model)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if library_name_of(receiver) == ENGINE and COMPUTES_GRADIENTS.fits(name):
            frame.trace.notes.of(WrappedRuns).calls[id(node)] = False

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        if before.is_of_some_ranks:
            return
        if isinstance(statement, cst.Return) and statement.value is not None:
            returned = loaders_of_trainers.returned(frame, statement.value)
            if returned is not None:
                _emit_of_trainer(frame, statement.value, returned, frame.module)
        if not isinstance(statement, cst.For):
            return
        for loader in loaders_in(frame, statement.iter):
            sampling = loader.sampler
            if not isinstance(sampling, NoSampler) or loader.batch is None or loader.batch.rank.differs:
                continue
            prepared = _runs_prepared(frame, statement)
            if prepared is not None and trains(frame, statement):
                _emit(frame, statement.iter, sampling, prepared)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Remove the loaders of programs in which something may share rows out."""
        if not any(isinstance(event, UnshardedData) for event in events):
            return events
        files = list(imported)
        return [each for each in events if not (isinstance(each, UnshardedData) and _may_share(each, files))]


def _is_shared(model: Value) -> bool:
    """Whether a wrapper, which several ranks have, synchronises the gradients of a model, at least on some way."""
    return may_be_wrapped(model) and not is_data_parallel(model)


def _is_of_other_class(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    """Whether only another class wraps a model for several ranks, in an object that both have one of.

    The class of the method that calls the model puts it into DataParallel: `self.state.net` of two engines.
    """
    cls, step = frame.cls, next((each for each in steps(model.provenance) if isinstance(each, WrappedHere)), None)
    if cls is None or step is None or step.module.tree is None:
        return False
    around = definitions_around(step.module.tree, step.node)[:1]
    is_foreign = any(isinstance(each, cst.ClassDef) for each in around) and not any(
        each is base.node for each in around for base in cls.project_lineage()
    )
    return is_foreign and wraps_for_one(cls, last_name(callee_of(node)))


def _runs_prepared(frame: Frame, loop: cst.For) -> bool | None:
    """Whether a loop, or what it calls, runs a model that `prepare` has wrapped; None if it runs no wrapper."""
    here = frame.trace.notes.of(WrappedRuns)
    if here.wraps:
        return False
    found = [here.calls[id(call)] for call in of_class(loop.body, cst.Call) if id(call) in here.calls]
    for traces in traces_called_in(frame, loop).values():
        for each in traces:
            found.extend(each.notes.of(WrappedRuns).calls.values())
    return all(found) if found else None


def _emit_of_trainer(frame: Frame, node: cst.BaseExpression, sampling: NoSampler, trainer: Module) -> None:
    """A Trainer trains on a loader as it is, unless something in the project shares rows out."""
    if not frame.module.project_mentions(SHARES_ROWS.pattern.encode()):
        _emit(frame, node, sampling, prepared=True, trainer=trainer)


def _emit(
    frame: Frame, batches: cst.BaseExpression, sampling: NoSampler, prepared: bool, trainer: Module | None = None
) -> None:
    made_by = None if sampling.data is None else makers(frame, sampling.data)
    if made_by is None:
        return
    is_here = sampling.module is frame.module
    step = frame.step(batches, _BATCHES if trainer is None else _BATCHES_OF_TRAINER)
    frame.emit(
        UnshardedData,
        sampling.call if is_here else batches,
        tag=id(sampling.call),
        loader=Step(sampling.module, sampling.call, _LOADER, step),
        shuffles=sampling.shuffles,
        files=made_by if trainer is None else (*made_by, trainer),
        prepared=prepared,
        by_trainer=trainer is not None,
    )


def _may_share(event: UnshardedData, imported: Iterable[Module]) -> bool:
    """Whether a file that the program may consist of gives the ranks different rows, as far as its text says."""
    maker = cast("Module", event.loader.module)  # the loader is made in a file of the project
    files = {id(each): each for each in (event.module, maker, *event.files, *imported)}
    return any(_shares(each, event.loader.node if each is maker else None) for each in files.values())


def _shares(module: Module, loader: cst.CSTNode | None) -> bool:
    """Whether a file has a word for it, beside torch's sampler where that is only imported, or deals other rows.

    loader: the call that makes the loader, in the file with it.
    """
    if not module.shows(SHARES_ROWS):
        return False
    code = code_without(module.tree, module.code, loader) if isinstance(loader, cst.Call) else module.code
    return SHARES_ROWS.found_in(IMPORT_LINES.sub(_without_sampler, code)) or _uses_sampler(code)


def _without_sampler(line: re.Match[bytes]) -> bytes:
    return _SAMPLER.sub(b"", line[0])


def _uses_sampler(code: bytes) -> bool:
    return _SAMPLER.search(IMPORT_LINES.sub(b"", code)) is not None


OBSERVER = UnshardedLoaders()
