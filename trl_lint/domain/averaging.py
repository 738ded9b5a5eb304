"""Means over a rank-local count, and what happens to them on the way to an average over the ranks.

A rank fact says how a value relates to the other ranks' values. To find a mean of means, the analysis must know more
of a value: whether the data decide how many elements it has, whether it is a total that can be such a count, whether
it was divided by one. `AveragingFact` says that; `transfer/tensors/tensor_averages.py` creates it and passes it on.
In `kl[mask].mean()`, elements are selected, their mean is rank-local, and `gather(…).mean()` of it is a mean of means:

    >>> joined(SELECTED, TOTAL)[:2], only_terms(SELECTED)  # selected in one branch, a total in the other
    ((True, True), None)
    >>> joined(RANKS, None).stage.name, NOTHING.stage.name
    ('RANKS', 'LOCAL')
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from libcst import CSTNode

    from trl_lint.domain.provenance import SourceModule, Step
    from trl_lint.domain.values import Payload, Write


class MeanForm(IntEnum):
    """How a mean over a rank-local count is computed."""

    __hash__ = int.__hash__

    RATIO = 0  # a sum over a sum of this rank's data
    SELECTED = 1  # the mean of elements that the data select
    NAN = 2  # the mean of what is not NaN
    LOSS = 3  # a loss over the labels that are not ignored
    RATE = 4  # the error rate of texts: errors over words or characters


@dataclass(slots=True, eq=False, repr=False)
class Mean:
    """An expression that computes a mean over a rank-local count. One object per expression.

    What a function returns that computes one is, for each of its calls, a mean of its own: `kl = masked_mean(kl, mask)`
    is a metric, `masked_mean(loss, mask)` is trained with. The gradients are averaged over the ranks, so the average of
    the means that are trained with is what is optimised.

    Attributes:
        node: The expression.
        payload: What a fix has to know about its place.
        order: How many were found before it.
        function: The function whose code has it.
        returned: The mean that a call returns, which is this one for its caller; None for the expression itself.
        is_start: Whether a backward pass starts from it, or from a value that it is part of.
    """

    module: SourceModule
    node: CSTNode
    form: MeanForm
    provenance: Step
    payload: Payload
    order: int
    function: Hashable
    returned: Mean | None = None
    is_start: bool = field(default=False, init=False)
    _is_start_after: bool = field(default=False, init=False)  # for a caller

    def ways(self) -> Iterator[Mean]:
        """This one, and those in the functions that have returned it, up to the expression."""
        mean: Mean | None = self
        while mean is not None:
            yield mean
            mean = mean.returned

    def train(self) -> None:
        """Note that a backward pass starts from it."""
        self.is_start = True
        for each in self.ways():
            each._is_start_after = True

    @property
    def trained(self) -> bool:
        """Whether a backward pass starts from it: here, in a function that has returned it, or in one that it goes to.

        What a function keeps of it besides, in an attribute, may be what a caller trains with.
        """
        return self._is_start_after or any(each.is_start for each in self.ways())


class Stage(IntEnum):
    """How far the communication of a mean between the ranks has got."""

    __hash__ = int.__hash__

    LOCAL = 0  # rank-local
    SHARED = 1  # rank-local, divided by the number of ranks
    GATHERED = 2  # the means of all ranks, gathered
    SUMMED = 3  # the means of all ranks, summed
    RANKS = 4  # no mean, but the number of ranks


NO_MEANS: frozenset[Mean] = frozenset()
NO_CALLS: frozenset[Write] = frozenset()


class AveragingFact(NamedTuple):
    """What the data of this rank decide about a value.

    Attributes:
        selected: Whether they decide how many elements it has.
        total: Whether it is one sum or count of this rank's data.
        means: The value is one of these means, or linear in them, at `stage`.
        terms: The means that it was computed from, in any way.
        passed_by: The statements whose call passed the mean to the function that the value is in.
        totals: Whether each of its entries is a total: `torch.stack([(x * mask).sum(), mask.sum()])`.
    """

    selected: bool = False
    total: bool = False
    means: frozenset[Mean] = NO_MEANS
    stage: Stage = Stage.LOCAL
    terms: frozenset[Mean] = NO_MEANS
    passed_by: frozenset[Write] = NO_CALLS
    totals: bool = False

    def key(self) -> tuple[Hashable, ...]:
        """The part by which contexts of a function are distinguished: `terms` is not part of it."""
        return self[:4], self.passed_by, self.totals


NOTHING = AveragingFact()
SELECTED = AveragingFact(selected=True)
TOTAL = AveragingFact(total=True)
RANKS = AveragingFact(stage=Stage.RANKS)


def fact_of_mean(mean: Mean) -> AveragingFact:
    means = frozenset((mean,))
    return AveragingFact(means=means, terms=means)


def joined(a: AveragingFact | None, b: AveragingFact | None) -> AveragingFact | None:
    """The fact where control flow merges: what holds for one of the two values may hold for the result."""
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
        a.passed_by | b.passed_by,
        a.totals or b.totals,
    )


def only_terms(fact: AveragingFact | None) -> AveragingFact | None:
    """The fact of a value that was computed from this one in some way: only the terms are kept."""
    return AveragingFact(terms=fact.terms) if fact is not None and fact.terms else None
