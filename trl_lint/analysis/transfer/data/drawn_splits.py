"""Dicts of data sets of which some are drawn: `DatasetDict` of the `datasets` library.

parts = rows.train_test_split(0.1)
data["train"] = parts["train"]                           data: DRAWN, of which "train" is drawn
data["train"]                                            DRAWN
data["test"]                                             as before
DatasetDict({"train": parts["train"], "test": held})     the same as `data`
data["train"] = rows                                     nothing of `data` is drawn any more
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.transfer.data.draws import draws_of, first_draw
from trl_lint.domain import ranks
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Value
from trl_lint.knowledge.datasets import DATASET, MAKES_SPLITS, SPLITS_MAPPED, is_dataset

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

_TEXT = "it is kept with other data sets here"


class OfSplits(Step):
    """Of a dict of data sets, those with these names are drawn, as the chain before says."""

    __slots__ = ("names",)

    def __init__(self, frame: Frame, node: cst.CSTNode, before: Step, names: frozenset[Hashable]) -> None:
        super().__init__(frame.module, node, _TEXT, before)
        self.names = names


def assigned(frame: Frame, splits: Value, name: object, value: Value, node: cst.CSTNode) -> Value | None:
    """A dict of data sets after one of them has been assigned; None if that changes nothing of what is known of it."""
    known = splits.provenance
    drawn = next(draws_of(frame, [value]), None)
    if not is_dataset(splits) or not isinstance(name, str):
        return None
    if drawn is None:
        if not isinstance(known, OfSplits) or name not in known.names or known.before is None:
            return None
        names = known.names - {name}
        return _with_drawn(frame, node, known.before, names) if names else DATASET
    if isinstance(known, OfSplits) and first_draw(known) is first_draw(drawn):
        return _with_drawn(frame, node, drawn, known.names | {name})
    return _with_drawn(frame, node, drawn, frozenset({name})) if splits.rank.state is State.SAME else None


def at_name(frame: Frame, splits: Value, node: cst.Subscript, item: Value) -> Value:
    """One of a dict of data sets. item: what is known of any of them."""
    known = splits.provenance
    if not is_dataset(splits) or not isinstance(known, OfSplits):
        return item
    match node.slice:
        case [cst.SubscriptElement(cst.Index(index))]:
            name = frame.value_of(index).const
            if isinstance(name, str):
                return DATASET.replace(rank=ranks.DRAWN, provenance=known.before) if name in known.names else DATASET
    return DATASET.replace(rank=ranks.UNKNOWN)


def made(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """`DatasetDict({"train": …})`, `DatasetDict(train=…)`; None if nothing in it is drawn, or for other functions."""
    if name != MAKES_SPLITS or args.star is not None or args.double is not None:
        return None
    named, rest = _given(frame, args)
    found = {key: draw for key, value in named.items() if (draw := next(draws_of(frame, [value]), None)) is not None}
    of_rest = None if rest is None else next(draws_of(frame, [rest]), None)
    draw = next(iter(found.values()), of_rest)
    if draw is None or any(first_draw(each) is not first_draw(draw) for each in found.values()):
        return None
    if of_rest is not None:
        return DATASET.replace(rank=ranks.DRAWN, provenance=draw)
    return _with_drawn(frame, node, draw, frozenset(found))


def _given(frame: Frame, args: Arguments) -> tuple[Mapping[Hashable, Value], Value | None]:
    """The data sets of which a dict of them is made: those with known names, and the others."""
    mapping = args.get(*SPLITS_MAPPED)
    if mapping is None:
        return dict[Hashable, Value](args.keywords.items()), None
    cells = list(frame.memory.cells(mapping)) if isinstance(mapping, ContainerValue) else []
    return (cells[0].entries, cells[0].rest) if len(cells) == 1 else ({}, None)


def _with_drawn(frame: Frame, node: cst.CSTNode, draw: Step, names: frozenset[Hashable]) -> Value:
    return DATASET.replace(rank=ranks.DRAWN, provenance=OfSplits(frame, node, draw, names))
