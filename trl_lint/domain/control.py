"""Control: which ranks reach a point of the program together, and under which conditions.

>>> from trl_lint.domain.provenance import Step
>>> some = Control(Uniformity.DIVERGENT, Step(None, None, "`is_main_process` differs between ranks"), ranks.RANK_LOCAL)
>>> maybe = Control(Uniformity.UNKNOWN, Step(None, None, "whether `flag` is the same is not known"), ranks.UNKNOWN)
>>> inside = UNIFORM.under(maybe).under(some)  # if flag: if is_main_process: …
>>> inside.uniformity.name, [condition.uniformity.name for condition in inside.conditions]
('DIVERGENT', ['UNKNOWN', 'DIVERGENT'])
>>> UNIFORM.under(some).under(some).conditions == (some,)  # the same condition twice
True
>>> UNIFORM.without_gradients().under(some).grad  # inside `torch.no_grad()`
False
>>> UNIFORM.at_pace(Pace.UNREDUCED).under(some).pace.name  # inside `ddp.no_sync()`
'UNREDUCED'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from trl_lint.domain import ranks
from trl_lint.domain.ranks import Rank

if TYPE_CHECKING:
    from trl_lint.domain.provenance import SourceModule


class Uniformity(IntEnum):
    """How certain it is that all ranks reach a point together (WGSL calls such control flow uniform)."""

    __hash__ = int.__hash__

    UNIFORM = 0  # all ranks do
    UNKNOWN = 1
    DIVERGENT = 2  # some may not: a condition on the path there differs between ranks


class Pace(IntEnum):
    """Whether the ranks wait for each other in the forwards and backwards of wrapped models."""

    __hash__ = int.__hash__

    TOGETHER = 0  # as DDP does it
    UNREDUCED = 1  # `no_sync()`: each rank keeps its own gradients
    UNEVEN = 2  # `join()`: ranks that have run out of batches answer for the others


# What holds inside certain `with` blocks: gradients, gathered parameters, pace; and whether other ranks have failed.
Modes = tuple[bool, bool, Pace, bool]


@dataclass(slots=True, eq=False, repr=False)
class FirstRank:
    """The rank that runs a block before the others: one of the "job", of each "node", or possibly one ("unknown"); or
    whichever gets the "lock" of a file first.

    node: the item of the `with` statement in `module` that says so; None if ranks wait in a barrier under a condition
    (scope "barrier") until those that did not wait reach a barrier as well.
    """

    scope: str
    node: Any
    module: SourceModule | None


@dataclass(slots=True, eq=False, repr=False)
class Control:
    """How certain it is that all ranks reach this point together.

    Attributes:
        provenance: The Step that names the condition.
        rank: The condition's fact.
        engine: Whether the code here runs only under DeepSpeed, FSDP or a similar engine, whose wrapper has attributes
            that DDP does not have.
        conditions: All conditions that are not known to have the same result on all ranks, the outermost first.
        first_rank: Who is first if the ranks run this one after the other.
        grad: False if nothing that is computed here gets a gradient.
        parameters_gathered: Whether sharded parameters have been gathered.
        pace: Whether the ranks wait for each other in a training step.
        others_failed: Whether the ranks that lack a value have failed on the way here, as they used it.
    """

    uniformity: Uniformity
    provenance: Any = None  # a Step, unless all ranks certainly get here
    rank: Rank = ranks.SAME
    engine: bool = False
    _conditions: tuple[Control, ...] = ()  # if there are several
    first_rank: FirstRank | None = None
    grad: bool = True
    parameters_gathered: bool = False
    pace: Pace = Pace.TOGETHER
    others_failed: bool = False

    @property
    def modes(self) -> Modes:
        return self.grad, self.parameters_gathered, self.pace, self.others_failed

    @property
    def conditions(self) -> tuple[Control, ...]:
        return self._conditions or ((self,) if self.uniformity else ())

    @property
    def is_chosen_by_rank(self) -> bool:
        """Whether the number of the rank decides which ranks get here."""
        return any(
            each.uniformity is Uniformity.DIVERGENT and each.rank.origins == ranks.Origin.RANK
            for each in self.conditions
        )

    @property
    def excludes_ranks(self) -> bool:
        """Whether a condition keeps some ranks out; what they find on the disk is usually the same."""
        return self.uniformity is Uniformity.DIVERGENT and self.rank.origins != ranks.Origin.IO

    @property
    def is_of_some_ranks(self) -> bool:
        """Whether one of the conditions here does so."""
        return any(each.excludes_ranks for each in self.conditions)

    def under_engine(self) -> Control:
        return self if self.engine else replace(self, engine=True)

    def without_gradients(self, off: bool = True) -> Control:
        """This point, where gradients are off (or on again)."""
        return self if self.grad is not off else replace(self, grad=not off)

    def with_parameters(self) -> Control:
        """This point, where sharded parameters have been gathered."""
        return self if self.parameters_gathered else replace(self, parameters_gathered=True)

    def at_pace(self, pace: Pace) -> Control:
        return self if self.pace is pace else replace(self, pace=pace)

    def once_others_failed(self, failed: bool = True) -> Control:
        """This point, where the ranks that lack a value do not get."""
        return self if self.others_failed is failed else replace(self, others_failed=failed)

    def with_modes(self, modes: Modes) -> Control:
        """This point, in the modes of another one."""
        if self.modes == modes:
            return self
        grad, parameters_gathered, pace, failed = modes
        return replace(self, grad=grad, parameters_gathered=parameters_gathered, pace=pace, others_failed=failed)

    def under(self, inner: Control) -> Control:
        """This point, under further conditions."""
        if inner.uniformity is Uniformity.UNIFORM or inner is self:
            return self
        if self.uniformity is Uniformity.UNIFORM:
            entered = (inner.under_engine() if self.engine else inner).with_modes(self.modes)
            return entered if self.first_rank is None else entered.within_first_rank(self.first_rank)
        known = {id(each.provenance) for each in self.conditions}
        added = tuple(each for each in inner.conditions if id(each.provenance) not in known)
        if not added:
            return self
        worst = inner if inner.uniformity > self.uniformity else self
        return replace(
            self,
            uniformity=worst.uniformity,
            provenance=worst.provenance,
            rank=worst.rank,
            engine=self.engine or worst.engine,
            _conditions=self.conditions + added,
            first_rank=_outer_first_rank(self.first_rank, inner.first_rank),
        )

    def without_conditions(self, settled: frozenset[int]) -> Control:
        """This point, without the conditions (the ids of their steps) that no longer keep any rank away."""
        open_ones = [each for each in self.conditions if id(each.provenance) not in settled]
        found = replace(self, uniformity=Uniformity.UNIFORM, provenance=None, rank=ranks.SAME, _conditions=())
        for each in open_ones:
            found = found.under(each)
        return found

    def with_first_rank(self, first_rank: FirstRank | None) -> Control:
        """This point, where another rank is first, or none."""
        return self if first_rank is self.first_rank else replace(self, first_rank=first_rank)

    def within_first_rank(self, first_rank: FirstRank) -> Control:
        """This point, where ranks run one after the other."""
        return self.with_first_rank(_outer_first_rank(self.first_rank, first_rank))


UNIFORM = Control(Uniformity.UNIFORM)
# The scopes of first ranks; of two nested blocks, the one that comes first here says more.
_OUTERMOST = ("job", "barrier", "lock", "unknown", "node")


def _outer_first_rank(a: FirstRank | None, b: FirstRank | None) -> FirstRank | None:
    """The first rank of two nested blocks: the one of the job, if there is one."""
    if a is None or b is None or a is b:
        return a or b
    return min((a, b), key=lambda first_rank: _OUTERMOST.index(first_rank.scope))
