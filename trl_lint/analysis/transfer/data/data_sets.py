"""Data sets: whether all ranks have the same one, after a condition on the rank and after a random draw.

The value of a data set after each of these:

    if rank == 0:                         after the `if`, rank 0 has another one than the others:
        data = data.map(tokenize)         DATASET with rank RANK_LOCAL
    if rank != 0:
        data = data.map(tokenize)         now all ranks have it: DATASET
    data.shuffle()                        rank UNKNOWN: there is no seed
    data.select(range(rank, 9, world))    rank UNKNOWN: each rank picks rows of its own
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
from trl_lint.knowledge.datasets import DATASET, DATASET_CLASSES, PICK_ROWS, STREAM, STREAM_CLASSES, is_dataset

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.knowledge.schema import Function as FunctionRow


def narrowed(value: Value, classes: Collection[str]) -> Value:
    """A data set that is an instance of one of these classes; STREAM, which computes nothing now, if all stream."""
    return STREAM if classes and STREAM_CLASSES.issuperset(classes) else value


def annotated(options: Iterable[Value | None]) -> Value | None:
    """The value of a union of annotated types: a data set if any of them is one."""
    return DATASET if any(library_name_of(option) in DATASET_CLASSES for option in options) else None


def marked(memory: Memory, narrowed: Container[str]) -> dict[str, Value]:
    """Mark the data sets at the start of a branch as separate objects, so that a new one at its end is recognised.

    narrowed: the names that the condition of the branch narrows.
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
    before: Memory, branches: tuple[tuple[Memory, dict[str, Value]], tuple[Memory, dict[str, Value]]], division: Control
) -> dict[str, Value]:
    """The data sets after a condition on the rank: those that only one of its branches has replaced.

    They differ on some ranks, unless the remaining ranks replace theirs in a second condition of this kind. A data set
    that both branches have kept is the one from before, so that a condition in a branch of another one (`elif`)
    replaces nothing.
    """
    (if_true, known_true), (if_false, known_false) = branches
    found = {}
    for name in known_true.keys() & known_false.keys():
        is_kept_if_true = if_true.names.get(name) is known_true[name]
        is_kept_if_false = if_false.names.get(name) is known_false[name]
        if is_kept_if_true is is_kept_if_false:
            if is_kept_if_true:
                found[name] = before.names[name]
            continue
        new = (if_false if is_kept_if_true else if_true).names.get(name)
        if new is not None and new.kind is not Kind.NONE:
            first = not known_true[name].rank.differs and known_true[name].absence is None
            found[name] = DATASET.replace(rank=ranks.RANK_LOCAL, provenance=division.provenance) if first else DATASET
    return found


def drawn(row: FunctionRow, args: Arguments, receiver: Value | None, value: Value) -> Value:
    """A data set after a shuffle, or after rows are picked.

    Without a seed it is unknown whether it is the same on all ranks, and its fingerprint, which names the cache files
    of derived data sets, is drawn as well. So it is where the number of the rank says which rows are picked.
    """
    if not is_dataset(value):
        return value
    may_differ = receiver is not None and is_dataset(receiver) and receiver.rank.state is State.UNKNOWN
    seeds = [args.get(*seed) for seed in row.seeds]
    unseeded = bool(row.seeds) and all(is_none(seed) for seed in seeds)
    in_order = (ordered := args.keywords.get("shuffle")) is not None and ordered.const is False
    is_drawn = unseeded and not in_order and args.double is None and args.star is None
    picks = (part for each in args.all() for part in (each, *each.inside())) if row.name in PICK_ROWS else ()
    is_own = any(part.rank.is_by_rank for part in picks)
    return value.replace(rank=ranks.UNKNOWN) if may_differ or is_drawn or is_own else value
