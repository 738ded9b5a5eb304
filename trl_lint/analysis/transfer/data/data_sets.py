"""Data sets: which ranks have which, after a condition on the rank and after a draw.

What a data set is after each of these:

    if rank == 0:                         on rank 0 another one than on the others, behind the `if`:
        data = data.map(tokenize)         DATASET with rank RANK_LOCAL
    if rank != 0:
        data = data.map(tokenize)         now all ranks have it: DATASET
    data.shuffle()                        rank UNKNOWN: no seed was given
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from typing import TYPE_CHECKING

from trl_lint.domain import ranks
from trl_lint.domain.control import Control
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import is_none, library_name_of
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.datasets import DATASET, DATASET_CLASSES, STREAM, STREAM_CLASSES, is_dataset

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.knowledge.schema import Function as FunctionRow


def narrowed(value: Value, classes: Collection[str]) -> Value:
    """A data set that is an instance of classes of these names: if all of them stream, it computes nothing now."""
    return STREAM if classes and STREAM_CLASSES.issuperset(classes) else value


def annotated(options: Iterable[Value | None]) -> Value | None:
    """What one of several annotated types says: a data set is one where it may be."""
    return DATASET if any(library_name_of(option) in DATASET_CLASSES for option in options) else None


def marked(memory: Memory, narrowed: Container[str]) -> dict[str, Value]:
    """The data sets at the start of an arm, as objects of their own: what is not one of them at its end is new.

    narrowed: the names of which the arm's condition says more.
    """
    names = memory.names.items()
    known = {
        name: value.replace(provenance=value.provenance)
        for name, value in names
        if is_dataset(value) and name not in narrowed
    }
    memory.names.update(known)
    return known


def of_some_ranks(
    before: Memory, arms: tuple[tuple[Memory, dict[str, Value]], tuple[Memory, dict[str, Value]]], division: Control
) -> dict[str, Value]:
    """The data sets as they are behind a condition on the rank: those that only one of its arms has made anew.

    They are others on some ranks, unless those that have had no turn at it have it at a second such condition. What
    both arms have kept is what it was before, so that a condition in an arm of another one (`elif`) makes nothing new.
    """
    (taken, known), (skipped, known_else) = arms
    found = {}
    for name in known.keys() & known_else.keys():
        kept, kept_else = taken.names.get(name) is known[name], skipped.names.get(name) is known_else[name]
        if kept is kept_else:
            if kept:
                found[name] = before.names[name]
            continue
        new = (skipped if kept else taken).names.get(name)
        if new is not None and new.kind is not Kind.NONE:
            first = not known[name].rank.differs
            found[name] = DATASET.replace(rank=ranks.RANK_LOCAL, provenance=division.provenance) if first else DATASET
    return found


def drawn(row: FunctionRow, args: Arguments, receiver: Value | None, value: Value) -> Value:
    """A data set as the ranks have it once it was shuffled: whether alike is not known where no seed was given.

    Its fingerprint, which names the cache files of what is computed of it, is drawn as well.
    """
    if not is_dataset(value):
        return value
    apart = receiver is not None and is_dataset(receiver) and receiver.rank.state is State.UNKNOWN
    seeds = [args.get(*seed) for seed in row.seeds]
    unseeded = bool(row.seeds) and all(is_none(seed) for seed in seeds)
    in_order = (ordered := args.keywords.get("shuffle")) is not None and ordered.const is False
    is_drawn = unseeded and not in_order and args.double is None and args.star is None
    return value.replace(rank=ranks.UNKNOWN) if apart or is_drawn else value
