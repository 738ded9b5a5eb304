"""Batches whose samples are all made as long as each other, by code in another file than the one that reads them.

    DataLoader(data, collate_fn=collate)         `collate` is of a file that pads to a fixed length: so is the batch
    OwnTrainer(model, data_collator=collate)     what the hooks of the class are given
    data.map(tokenize)                           a data set of such samples

The guess is one on files (`heuristics.FIXED_LENGTHS`): this is about which files make a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.objects import FunctionValue, class_of
from trl_lint.analysis.program.syntax import of_class, used_names
from trl_lint.domain.kinds import LoaderValue
from trl_lint.domain.partial_calls import PartialCall
from trl_lint.domain.shapes import ONE_LENGTH
from trl_lint.knowledge import heuristics
from trl_lint.knowledge.datasets import is_dataset

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

# What a loader and a trainer are given that makes their batches: by its name, and of a loader by the first position.
_OF_LOADERS = frozenset({"", "collate_fn", "dataset"})
_OF_TRAINERS = frozenset({"data_collator", "eval_dataset", "train_dataset"})


class _GivenOneLength:
    """Of a file: its classes of trainers that are given batches of one length somewhere."""

    def __init__(self) -> None:
        self.classes: set[str] = set()


def has_one_length(frame: Frame, batch: Value) -> bool:
    """Whether a batch may be as long on all ranks: by the file that reads it, or by those that make it."""
    if batch.shape is ONE_LENGTH or frame.module.shows(heuristics.FIXED_LENGTHS):
        return True
    cls = frame.cls
    return cls is not None and cls.name in cls.module.notes.of(_GivenOneLength).classes


def loaded(frame: Frame, args: Arguments, loader: Value) -> Value:
    """A loader that has just been made."""
    if not isinstance(loader, LoaderValue) or loader.batch is None or not _makes_one_length(frame, args, _OF_LOADERS):
        return loader
    return loader.having(loader.batch.but(shape=ONE_LENGTH))


def given(frame: Frame, args: Arguments, made: Value) -> None:
    """A trainer has just been made: its hooks get the batches of what it is given."""
    cls = class_of(made)
    if cls is None or not frame.engine.is_entry_class(cls) or not _makes_one_length(frame, args, _OF_TRAINERS):
        return
    for each in cls.in_sight():
        each.module.notes.of(_GivenOneLength).classes.add(each.name)


def mapped(frame: Frame, owner: Value | None, args: Arguments, value: Value) -> Value:
    """What a method of a data set has made of it."""
    if not is_dataset(value):
        return value
    kept = owner is not None and owner.shape is ONE_LENGTH
    return value.but(shape=ONE_LENGTH) if kept or _has_some(frame, args.all()) else value


def _makes_one_length(frame: Frame, args: Arguments, names: frozenset[str]) -> bool:
    """Whether the call that is run now makes something that gives batches of one length, by what it is given."""
    if frame.module.shows(heuristics.FIXED_LENGTHS):
        return True
    named = {**dict(zip(("",), args.positional, strict=False)), **args.keywords}
    values = (value for name, value in named.items() if name in names)
    return _has_some(frame, values) or _has_some(frame, _makers(frame, names))


def _has_some(frame: Frame, values: Iterable[Value]) -> bool:
    return any(_is_of_one_length(frame, each) for each in values)


def _is_of_one_length(frame: Frame, value: Value) -> bool:
    """Whether a collator, a data set, or what makes one, comes from a file that pads to one length."""
    if value.shape is ONE_LENGTH:
        return True
    value = frame.engine.settle(value)
    if isinstance(value, PartialCall):
        return _is_of_one_length(frame, value.callee)
    source = value.function if isinstance(value, FunctionValue) else class_of(value)
    return source is not None and source.module.shows(heuristics.FIXED_LENGTHS)


def _makers(frame: Frame, handed: frozenset[str]) -> Iterator[Value]:
    """The functions and classes of the project that have made what the current statement hands over, by its text.

    `data = make_data(); loader = DataLoader(data["train"], collate_fn=data["collator"])`: of a value that is one of
    several, nothing else is known.
    """
    if frame.statement is None:
        return
    arguments = [each for call in of_class(frame.statement, cst.Call) for each in _handed_over(call, handed)]
    for each in arguments:
        yield from _called(frame, each)
    names = set().union(*map(used_names, arguments))
    followed: set[cst.Assign] = set()
    assignments = of_class(frame.root, cst.Assign) if names else ()
    while True:
        new = [each for each in assignments if each not in followed and names & _targets(each)]
        if not new:
            return
        followed.update(new)
        for statement in new:
            names |= used_names(statement.value)
            yield from _called(frame, statement.value)


def _handed_over(call: cst.Call, names: frozenset[str]) -> Iterator[cst.BaseExpression]:
    for place, arg in enumerate(call.args):
        name = arg.keyword.value if arg.keyword is not None else ""
        if arg.star == "**" or (name in names and (name or not place)):
            yield arg.value


def _targets(statement: cst.Assign) -> set[str]:
    return set().union(*(used_names(each.target) for each in statement.targets))


def _called(frame: Frame, expression: cst.BaseExpression) -> Iterator[Value]:
    for call in of_class(expression, cst.Call):
        known = frame.engine.lookup(frame, call.func.value) if isinstance(call.func, cst.Name) else None
        if known is not None:
            yield known
