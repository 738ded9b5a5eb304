"""How long the samples of a batch are, as determined by code in another file than the one that reads them.

    DataLoader(data, collate_fn=collate)         `collate` is from a file that pads to a fixed length: so is the batch
    OwnTrainer(model, data_collator=collate)     the batches that the hooks of the class get
    data.map(tokenize)                           a data set of such samples

The guesses are on files (`heuristics.FIXED_LENGTHS`, `RANK_LOCAL_LENGTHS`): this module decides which files create a
batch. If none of them shows that it is padded to its own longest sample, its length is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue, class_of
from trl_lint.analysis.program.syntax import of_class, used_names
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.domain.kinds import LoaderValue, PartialCall
from trl_lint.domain.shapes import ONE_LENGTH, OWN_LENGTH
from trl_lint.domain.values import Kind
from trl_lint.knowledge import heuristics
from trl_lint.knowledge.datasets import is_dataset

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.heuristics import Guess

# The arguments from which a loader and a trainer create their batches: by name, and for a loader by the first position.
_OF_LOADERS = frozenset({"", "collate_fn", "dataset"})
_OF_TRAINERS = frozenset({"data_collator", "eval_dataset", "train_dataset"})
# The position of `collate_fn` among the arguments of torch's `DataLoader`.
_COLLATOR = 6
# What files show, and the shape of the batches that they create. If a file shows both, the first counts.
_PADDINGS = ((heuristics.FIXED_LENGTHS, ONE_LENGTH), (heuristics.RANK_LOCAL_LENGTHS, OWN_LENGTH))


class _TrainersOfOneLength:
    """A note on a file: its trainer classes that get batches of a fixed length somewhere."""

    def __init__(self) -> None:
        self.classes: set[str] = set()


def may_have_one_length(frame: Frame, batch: Value) -> bool:
    """Whether a batch may have the same length on all ranks: by the file that reads it, or by those that create it.

    Batches that a trainer passes to its hooks are padded to their longest sample, as by its collators, by default.
    """
    if batch.shape is ONE_LENGTH or frame.module.shows(heuristics.FIXED_LENGTHS):
        return True
    cls = frame.cls
    if cls is not None and cls.name in cls.module.notes.of(_TrainersOfOneLength).classes:
        return True
    is_padded = batch.shape is OWN_LENGTH or frame.module.shows(heuristics.RANK_LOCAL_LENGTHS)
    return not is_padded and (cls is None or not frame.engine.is_entry_class(cls))


def loaded(frame: Frame, args: Arguments, loader: Value) -> Value:
    """A loader that was just created, with the shape of its batches."""
    if not isinstance(loader, LoaderValue) or loader.batch is None:
        return loader
    if _stacks_rows(args) and class_of(loader) is None:
        return loader.with_parts(loader.batch.replace(shape=ONE_LENGTH), loader.sampler)
    for guess, shape in _PADDINGS:
        if _has_lengths(frame, args, _OF_LOADERS, guess):
            return loader.with_parts(loader.batch.replace(shape=shape), loader.sampler)
    return loader


def _stacks_rows(args: Arguments) -> bool:
    """Whether torch's own collator stacks several rows into a batch, which requires that they have the same length."""
    collator, size = args.get(_COLLATOR, "collate_fn"), args.get(1, "batch_size")
    if args.star or args.double or not (collator is None or collator.kind is Kind.NONE):
        return False
    return size is not None and size.kind is not Kind.NONE and size.const != 1


def note_lengths(frame: Frame, args: Arguments, trainer: Value) -> None:
    """A trainer was just created: its hooks get the batches that its arguments produce."""
    cls = class_of(trainer)
    if cls is None or not frame.engine.is_entry_class(cls) or not _has_lengths(frame, args, _OF_TRAINERS):
        return
    for each in cls.project_lineage():
        each.module.notes.of(_TrainersOfOneLength).classes.add(each.name)
        frame.engine.note_stored(_TrainersOfOneLength, each)


def mapped(frame: Frame, receiver: Value | None, args: Arguments, value: Value) -> Value:
    """The result of a method of a data set, with the shape of its batches."""
    if not is_dataset(value):
        return value
    for guess, shape in _PADDINGS:
        if (receiver is not None and receiver.shape is shape) or _any_is_padded_by(frame, args.all(), guess):
            return value.replace(shape=shape)
    return value


def _has_lengths(frame: Frame, args: Arguments, names: frozenset[str], guess: Guess = heuristics.FIXED_LENGTHS) -> bool:
    """Whether the arguments of the current call produce batches of these lengths."""
    if frame.module.shows(guess):
        return True
    named = {**dict(zip(("",), args.positional, strict=False)), **args.keywords}
    values = (value for name, value in named.items() if name in names)
    return _any_is_padded_by(frame, values, guess) or _any_is_padded_by(frame, _makers(frame, names), guess)


def _any_is_padded_by(frame: Frame, values: Iterable[Value], guess: Guess) -> bool:
    return any(_is_padded_by(frame, each, guess) for each in values)


def _is_padded_by(frame: Frame, value: Value, guess: Guess) -> bool:
    """Whether a collator, a data set, or a factory of one, comes from a file that pads in this way."""
    if value.shape is ONE_LENGTH or value.shape is OWN_LENGTH:
        return (value.shape is ONE_LENGTH) is (guess is heuristics.FIXED_LENGTHS)
    value = frame.engine.settle(value)
    if isinstance(value, PartialCall):
        return _is_padded_by(frame, value.callee, guess)
    source = value.function if isinstance(value, FunctionValue) else class_of(value)
    return source is not None and source.module.shows(guess)


def _makers(frame: Frame, names_passed: frozenset[str]) -> Iterator[Value]:
    """The functions and classes of the project that have created the current statement's arguments, by its text.

    `data = make_data(); loader = DataLoader(data["train"], collate_fn=data["collator"])`: nothing else is known of an
    item of several values.
    """
    if frame.statement is None:
        return
    arguments = [each for call in of_class(frame.statement, cst.Call) for each in _arguments_passed(call, names_passed)]
    for each in arguments:
        yield from _called(frame, each)
    names = set().union(*map(used_names, arguments))
    waiting = _bindings(frame.root) if names else ()
    while True:
        new = [binding for binding in waiting if not names.isdisjoint(binding.targets)]
        if not new:
            return
        waiting = [binding for binding in waiting if names.isdisjoint(binding.targets)]
        for binding in new:
            names |= binding.used
            yield from _called(frame, binding.value)


class _MakingLine(NamedTuple):
    """An assignment: the names that it binds, what they are bound to, and the names used in that."""

    targets: frozenset[str]
    value: cst.BaseExpression
    used: frozenset[str]


@tree_cache(64)
def _bindings(root: cst.CSTNode) -> Sequence[_MakingLine]:
    return tuple(
        _MakingLine(_targets(each), each.value, frozenset(used_names(each.value)))
        for each in of_class(root, cst.Assign)
    )


def _arguments_passed(call: cst.Call, names: frozenset[str]) -> Iterator[cst.BaseExpression]:
    for place, arg in enumerate(call.args):
        name = arg.keyword.value if arg.keyword is not None else ""
        if arg.star == "**" or (name in names and (name or not place)):
            yield arg.value


def _targets(statement: cst.Assign) -> frozenset[str]:
    return frozenset().union(*(used_names(each.target) for each in statement.targets))


def _called(frame: Frame, expression: cst.BaseExpression) -> Iterator[Value]:
    for call in of_class(expression, cst.Call):
        known = frame.engine.lookup(frame, call.func.value) if isinstance(call.func, cst.Name) else None
        if known is not None:
            yield known
