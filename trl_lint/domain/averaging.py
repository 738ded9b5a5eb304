"""Means over a count of this rank's own, and what becomes of them on their way to an average over the ranks.

A rank fact says how a value relates to the other ranks'. For a mean of means one has to know more of a value: that
the data decide how many elements it has, that it is a total that such a count can be, that it was divided by one.
`AveragingFact` says that; `transfer/tensors/tensor_averages.py` makes it and hands it on. In `kl[mask].mean()`, the
elements are selected, their mean is this rank's own, and `gather(…).mean()` of it is a mean of means:

    >>> joined(SELECTED, TOTAL)[:2], only_terms(SELECTED)  # selected and a total, in one arm or the other
    ((True, True), None)
    >>> joined(RANKS, None).stage.name, NOTHING.stage.name
    ('RANKS', 'LOCAL')
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable

    from libcst import CSTNode

    from trl_lint.domain.provenance import SourceModule, Step
    from trl_lint.domain.values import Payload, Write


class MeanForm(IntEnum):
    """What made a mean one over a count of this rank's own."""

    __hash__ = int.__hash__

    RATIO = 0  # a sum over a sum of this rank's data
    SELECTED = 1  # the mean of elements that the data select
    NAN = 2  # the mean of what is not NaN
    LOSS = 3  # a loss over the labels that are not ignored


class Mean:
    """A place where a mean over a count of this rank's own is computed. One object per place.

    node: the expression. payload: what a fix has to know about its place. order: how many were found before it.
    trained: whether it is, or is a part of, what a backward pass starts from: the ranks' gradients are averaged, so
    that the average of these means is what is optimised.
    """

    __slots__ = ("form", "module", "node", "order", "payload", "provenance", "trained")

    def __init__(
        self, module: SourceModule, node: CSTNode, form: MeanForm, provenance: Step, payload: Payload, order: int
    ) -> None:
        self.module = module
        self.node = node
        self.form = form
        self.provenance = provenance
        self.payload = payload
        self.order = order
        self.trained = False


class Stage(IntEnum):
    """How far a mean is on its way over the ranks."""

    __hash__ = int.__hash__

    LOCAL = 0  # this rank's own
    SHARED = 1  # this rank's, divided by the number of ranks
    GATHERED = 2  # those of all ranks, beside each other
    SUMMED = 3  # those of all ranks, added up
    RANKS = 4  # no mean: how many of them there are


NO_MEANS: frozenset[Mean] = frozenset()
NO_CALLS: frozenset[Write] = frozenset()


class AveragingFact(NamedTuple):
    """What this rank's own data decide on.

    selected: how many elements it has. total: it is one sum or count of this rank's data. means: it is one of these
    means (or what is linear in them), at this stage. terms: the means that went into it, in whatever way. handed:
    the statements whose call handed the mean to the function that it is in.
    """

    selected: bool = False
    total: bool = False
    means: frozenset[Mean] = NO_MEANS
    stage: Stage = Stage.LOCAL
    terms: frozenset[Mean] = NO_MEANS
    handed: frozenset[Write] = NO_CALLS

    def key(self) -> tuple[Hashable, ...]:
        """What tells contexts of a function apart: what merely went into a value does not."""
        return self[:4], self.handed


NOTHING = AveragingFact()
SELECTED = AveragingFact(selected=True)
TOTAL = AveragingFact(total=True)
RANKS = AveragingFact(stage=Stage.RANKS)


def made(mean: Mean) -> AveragingFact:
    means = frozenset((mean,))
    return AveragingFact(means=means, terms=means)


def joined(a: AveragingFact | None, b: AveragingFact | None) -> AveragingFact | None:
    """Where control flow merges: what may be said of one of them may be said of the value."""
    if a is b or a == b or b is None:
        return a
    if a is None:
        return b
    stage = a.stage if a.means or not b.means else b.stage
    same = not (a.means and b.means) or a.stage is b.stage
    return AveragingFact(
        a.selected or b.selected,
        a.total or b.total,
        a.means | b.means if same else NO_MEANS,
        stage if same else Stage.LOCAL,
        a.terms | b.terms,
        a.handed | b.handed,
    )


def only_terms(own: AveragingFact | None) -> AveragingFact | None:
    """What is left of it in a value that was computed from this one somehow."""
    return AveragingFact(terms=own.terms) if own is not None and own.terms else None
