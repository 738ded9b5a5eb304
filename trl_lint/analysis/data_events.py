"""Events about data sets and the rows that each rank gets: what the interpreter reports to the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trl_lint.analysis.events import Event
from trl_lint.domain.control import FirstRank
from trl_lint.domain.provenance import Step
from trl_lint.knowledge import mentions
from trl_lint.knowledge.mentions import LIBRARIES

if TYPE_CHECKING:
    from libcst import BaseExpression, Call, For, While


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPrepared(Event):
    """A whole data set is computed and cached by `method`. first_rank: which rank does so first, if that is known.

    in_trainer: a class that a library runs on every rank does it; started: a program that starts a training.
    holds_trainer: whether the mapped function holds the trainer, so that its hash, the cache file's name, differs.
    only_reads: whether all calls that lead here read what some ranks have computed, now that all runs are known.
    """

    mentions = (LIBRARIES, mentions.PREPARATIONS, mentions.DATASETS)
    anywhere = True

    method: str
    holds_trainer: bool = False
    first_rank: FirstRank | None
    in_trainer: bool
    started: bool = False
    accelerator: str = ""
    only_reads: Callable[[], bool] = field(default=lambda: False, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DealtTwice(Event):
    """Each rank gets a share of its share of the rows: something deals them again (`second`) that has been dealt.

    first: where they are dealt first. by_sampler: whether a sampler does that, or the rows themselves are those of the
    rank. again: what deals them again. loader: the call that makes the loader with the sampler, if it is in this file.
    sampler: the call in the same function that makes a sampler of torch's own class for it. evaluates: whether the rows
    are those of an evaluation.
    """

    mentions = (LIBRARIES, mentions.DEALERS)

    first: Step
    second: Step
    by_sampler: bool
    again: str
    loader: Call | None = None
    sampler: Call | None = None
    evaluates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochsAlike(Event):
    """A loop over epochs (`node` is of its head) trains on the batches of a loader in the same order each time.

    sampler: where its sampler is made; setter: the expression for it in the loop, "" if none is known to be there.
    batches: the loop over the batches. generator: whether it yields them, so that its user trains. again: whether the
    node is where a pass begins by hand after the last one has ended. loader: where that is made. remade: whether each
    epoch makes a sampler of its own, of the same rows.
    """

    anywhere = True  # a generator of batches may be in a file of its own
    loop: For | While
    sampler: Step
    setter: str
    batches: Step
    generator: bool = False
    again: bool = False
    loader: Step | None = None
    remade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledBesideSampler(Event):
    """A loader is given a sampler that deals rows to the ranks (`sampler`), and told to shuffle (`shuffle`)."""

    mentions = (mentions.LOADERS, (b"shuffle",), (b"ampler",))
    anywhere = True  # a function that makes loaders may be in a file of its own

    sampler: BaseExpression
    shuffle: BaseExpression
