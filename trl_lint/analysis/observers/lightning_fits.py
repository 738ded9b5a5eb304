"""Trainings of Lightning: its trainer gives each rank its share of the rows, in an order that a seed decides.

For example:

    train, test = random_split(rows, (90, 10))
    trainer = Trainer(devices=4, strategy="ddp")
    trainer.fit(model, DataLoader(train))               DatasetDrawn: each rank takes its share of another list

    seed_everything(seed + trainer.global_rank)         DatasetDrawn: each rank shuffles with its own seed, which the
    trainer.fit(model, DataLoader(rows, shuffle=True))  sampler takes that the trainer injects

    Trainer(use_distributed_sampler=False)              none: its user shares the rows out
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import DatasetDrawn
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.syntax import below, last_name, resolved
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data.drawn_shares import emit_draws, note_called
from trl_lint.analysis.transfer.data.draws import Draw, is_rank_local_seed
from trl_lint.domain.kinds import class_name_of
from trl_lint.domain.ranks import Origin
from trl_lint.knowledge import random_draws as table
from trl_lint.knowledge.lightning import (
    SEEDS_ALL,
    SHARES_BY_HAND,
    TRAIN_DATA,
    TRAINERS,
    VALIDATION_DATA,
    prepares_on_one,
)
from trl_lint.knowledge.torch_distributed import DATA_LOADER

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun
    from trl_lint.domain.values import Value

_FIT = "fit"
# Parameters of `Trainer.fit`.
_MODEL, _TRAINING, _VALIDATION = (0, "model"), (1, "train_dataloaders"), (2, "val_dataloaders")
_DATA = (3, "datamodule")
_MAKE_LOADERS = (TRAIN_DATA, VALIDATION_DATA)
_SHARED = "Lightning gives each rank its share of it here"


class SeededApart:
    """Whether a run has seeded Lightning, and the call by which it has last, if each rank has a seed of its own."""

    def __init__(self) -> None:
        self.is_seeded = False
        self.call: tuple[cst.Call, Arguments, Value] | None = None


class LightningFits(Observer["Frame"]):
    emits = frozenset({DatasetDrawn})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in SEEDS_ALL and isinstance(node, cst.Call):
            seed = args.get(0, "seed")
            is_apart = seed is not None and is_rank_local_seed(seed) and bool(seed.rank.origins & Origin.RANK)
            seeded = (node, args, seed) if is_apart and seed is not None else None
            _note_seeded(frame, seeded)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        called = run.trace.notes.of(SeededApart)
        if run.trace is not frame.trace and called.is_seeded:
            _note_seeded(frame, called.call if function.module is frame.module else None)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name != _FIT or class_name_of(receiver) not in TRAINERS or frame.module.mentions(SHARES_BY_HAND):
            return
        seeded = frame.trace.notes.of(SeededApart).call
        if seeded is not None and any(map(_shuffles, _loaders(frame, args))):
            _emit_seed(frame, *seeded)
        if frame.trace.launched:
            for each in (_TRAINING, _VALIDATION):
                emit_draws(frame, args.get(*each), node, _SHARED)
            for method in _called_in_fit(args):
                note_called(frame, method)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        """A loader is made that Lightning asks a module, or its data, for: what it gives, each rank has a share of."""
        if base == DATA_LOADER and _makes_loaders(frame) and args.keywords.keys().isdisjoint(table.SAMPLERS):
            emit_draws(frame, args.get(0, "dataset"), node, _SHARED)


def _note_seeded(frame: Frame, call: tuple[cst.Call, Arguments, Value] | None) -> None:
    notes = frame.trace.notes.of(SeededApart)
    notes.is_seeded, notes.call = True, call


def _makes_loaders(frame: Frame) -> bool:
    """Whether Lightning asks a method for what it shares out."""
    if frame.function is None or frame.function.name not in _MAKE_LOADERS or frame.cls is None:
        return False
    return prepares_on_one(frame.cls.library_bases()) and not frame.module.mentions(SHARES_BY_HAND)


def _called_in_fit(args: Arguments) -> Iterator[FunctionInfo]:
    """The methods of a module, and of its data, that load what it is trained with."""
    for each in (_TRAINING, _DATA, _MODEL):
        value = args.get(*each)
        for name in ("setup", *_MAKE_LOADERS):
            method = value.cls.find(name) if isinstance(value, ProjectInstance) else None
            if method is not None:
                yield method


def _emit_seed(frame: Frame, node: cst.Call, args: Arguments, seed: Value) -> None:
    row = table.DrawRow(generator="", gives="")
    draw = Draw(frame, node, table.INJECTED, row, args, "each rank seeds Lightning differently here")
    use = seed.provenance or draw
    frame.emit(DatasetDrawn, node, draw=draw, is_apart=True, row=row, name=table.INJECTED, use=use)


def _loaders(frame: Frame, args: Arguments) -> Iterator[cst.Call]:
    """The calls that make what a model is trained with: an argument, or in a method of the model or its data."""
    given = args.node(*_TRAINING)
    expression = None if given is None else resolved(frame.root, given.value)
    if isinstance(expression, cst.Call):
        yield expression
    for each in (_TRAINING, _DATA, _MODEL):
        value = args.get(*each)
        method = value.cls.find(TRAIN_DATA) if isinstance(value, ProjectInstance) else None
        if method is not None:
            yield from (call for call in below(method.node) if isinstance(call, cst.Call))


def _shuffles(call: cst.Call) -> bool:
    """Whether a call makes a loader that shuffles, with no sampler of its own."""
    keywords = {each.keyword.value: each.value for each in call.args if each.keyword is not None}
    shuffle = keywords.get("shuffle")
    is_loader = last_name(call.func) == "DataLoader" and keywords.keys().isdisjoint(table.SAMPLERS)
    return is_loader and isinstance(shuffle, cst.Name) and shuffle.value == "True"


OBSERVER = LightningFits()
