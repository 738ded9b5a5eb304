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

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from trl_lint.analysis.events import DatasetDrawn
from trl_lint.analysis.program.definitions.objects import FunctionValue, ProjectInstance
from trl_lint.analysis.program.project.passed_arguments import parameter_for
from trl_lint.analysis.program.syntax import assignments, innermost, last_name, of_class, resolved, self_attribute
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data import drawn_shares
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
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun
    from trl_lint.domain.values import Value

_FIT = "fit"
# Parameters of `Trainer.fit`.
_MODEL, _TRAINING, _VALIDATION = (0, "model"), (1, "train_dataloaders"), (2, "val_dataloaders")
_DATA = (3, "datamodule")
_MAKE_LOADERS = (TRAIN_DATA, VALIDATION_DATA)
# What a method gets, by the names of its parameters; for the one of all other keywords, those.
_Passed: TypeAlias = Mapping[str, cst.BaseExpression | dict[str, cst.BaseExpression]]
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
        if seeded is not None and any(_shuffles(*each) for each in _loaders(frame, args)):
            _emit_seed(frame, *seeded)
        if frame.trace.launched:
            for each in (_TRAINING, _VALIDATION):
                emit_draws(frame, args.get(*each), node, _SHARED)
            for method in _called_in_fit(args):
                note_called(frame, method)
                if method.module is not frame.module:
                    drawn_shares.note_fit(frame, method.module)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        """A loader is made that Lightning asks a module, or its data, for: what it gives, each rank has a share of."""
        if base == DATA_LOADER and _makes_loaders(frame) and args.keywords.keys().isdisjoint(table.SAMPLERS):
            emit_draws(frame, args.get(0, "dataset"), node, _SHARED)


def _note_seeded(frame: Frame, call: tuple[cst.Call, Arguments, Value] | None) -> None:
    notes = frame.trace.notes.of(SeededApart)
    notes.is_seeded, notes.call = True, call


def _makes_loaders(frame: Frame) -> bool:
    """Whether Lightning asks a method for what it shares out."""
    if frame.function is None or frame.cls is None or not _is_asked(frame.cls, frame.function):
        return False
    return prepares_on_one(frame.cls.library_bases()) and not frame.module.mentions(SHARES_BY_HAND)


def _is_asked(cls: ClassInfo, function: FunctionInfo) -> bool:
    """Whether a method is one of those that Lightning asks for loaders, or one that these ask in turn."""
    asked = (cls.find(name) for name in _MAKE_LOADERS)
    return function.name in _MAKE_LOADERS or any(
        self_attribute(call.func) == function.name
        for method in asked
        if method is not None
        for call in of_class(method.node, cst.Call)
    )


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


def _loaders(frame: Frame, args: Arguments) -> Iterator[tuple[cst.Call, _Passed]]:
    """The calls that make what a model is trained with: an argument, or in a method of the model or its data."""
    given = args.node(*_TRAINING)
    expression = None if given is None else resolved(frame.root, given.value)
    if isinstance(expression, cst.Call):
        yield expression, {}
        yield from _calls_in_helper(frame, expression)
    for each in (_TRAINING, _DATA, _MODEL):
        value = args.get(*each)
        method = value.cls.find(TRAIN_DATA) if isinstance(value, ProjectInstance) else None
        if method is not None and isinstance(value, ProjectInstance):
            yield from _calls_in(value.cls, method, {}, frozenset())


def _calls_in_helper(frame: Frame, call: cst.Call) -> Iterator[tuple[cst.Call, _Passed]]:
    """The calls in a function of the project that makes what a model is trained with, under no condition."""
    helper = frame.engine.settle(frame.engine.evaluate(frame, call.func))
    if not isinstance(helper, FunctionValue):
        return
    for each in of_class(helper.function.node, cst.Call):
        if innermost(helper.function.node, each, cst.If, cst.IfExp) is None:
            yield each, _passed(helper.function, call, {})


def _calls_in(
    cls: ClassInfo, function: FunctionInfo, passed: _Passed, around: frozenset[int]
) -> Iterator[tuple[cst.Call, _Passed]]:
    """The calls in a method of an object, and in those that it calls, with what these are passed.

    What such a method does on a condition, it may do for others.
    """
    for call in of_class(function.node, cst.Call):
        if around and innermost(function.node, call, cst.If, cst.IfExp) is not None:
            continue
        yield call, passed
        helper = cls.find(self_attribute(call.func))
        if helper is not None and helper is not function and id(helper) not in around:
            yield from _calls_in(cls, helper, _passed(helper, call, passed), around | {id(function)})


def _passed(helper: FunctionInfo, call: cst.Call, outer: _Passed) -> _Passed:
    """The expressions that a method gets from a call, or has by default, by the names of its parameters."""
    rest = next((each.name for each in helper.parameters if each.star == "**"), None)
    found: dict[str, cst.BaseExpression | dict[str, cst.BaseExpression]] = {
        each.name: each.default for each in helper.parameters if each.default is not None
    }
    others = {}
    for arg in call.args:
        parameter = parameter_for(helper, call, arg)
        value = outer.get(arg.value.value, arg.value) if isinstance(arg.value, cst.Name) else arg.value
        if isinstance(value, dict):
            others.update(value if arg.star else {})
        elif parameter is not None:
            found[parameter.name] = value
        elif arg.keyword is not None:
            others[arg.keyword.value] = value
    bound = {target.value for target, _ in assignments(helper.node) if isinstance(target, cst.Name)}
    return {name: value for name, value in {**found, rest or "": others}.items() if name not in bound}


def _shuffles(call: cst.Call, passed: _Passed) -> bool:
    """Whether a call makes a loader that shuffles, with no sampler of its own."""
    keywords = {each.keyword.value: each.value for each in call.args if each.keyword is not None}
    for each in call.args:
        spread = passed.get(each.value.value) if each.star == "**" and isinstance(each.value, cst.Name) else None
        keywords.update(spread if isinstance(spread, dict) else {})
    shuffle: object = keywords.get("shuffle")
    if isinstance(shuffle, cst.Name):
        shuffle = passed.get(shuffle.value, shuffle)
    is_loader = last_name(call.func) == "DataLoader" and keywords.keys().isdisjoint(table.SAMPLERS)
    return is_loader and isinstance(shuffle, cst.Name) and shuffle.value == "True"


OBSERVER = LightningFits()
