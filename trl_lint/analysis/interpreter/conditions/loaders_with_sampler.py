"""A loader that has a sampler which shards on one branch only: each rank may have its own batches.

    if len(settings["chunk"]) == 2:
        loader = DataLoader(rows, sampler=DistributedSampler(rows))
    else:
        loader = DataLoader(rows)
    for batch in loader:                  a shard, as with a sampler that is one of two
        ...

Only if the condition is on how the job runs (`if distributed:`), or compares something that is no text and no argument:
`if split == "train":` and `if training:` are on what the loader is for.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.syntax import identifiers, of_class, value_names
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import LoaderValue
from trl_lint.domain.loader_samplers import NoSampler
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Value
from trl_lint.knowledge.heuristics import DISTRIBUTED_SETTING, JOB_SETTING


def divided(
    frame: Frame, test: cst.BaseExpression, if_true: Mapping[str, Value], if_false: Mapping[str, Value]
) -> dict[str, Value]:
    """The names that are bound to a loader with a sampler on one branch, and to one that has none on the other."""
    pairs = ((name, one, if_false[name]) for name, one in if_true.items() if name in if_false)
    found = {name: loader for name, one, other in pairs if (loader := _sharding(one, other)) is not None}
    return found if found and all(_is_of_job(frame, each) for each in parts_of(test)) else {}


def _sharding(one: Value, other: Value) -> Value | None:
    """The loader of two that shards, if the other certainly has no sampler."""
    for each, plain in ((one, other), (other, one)):
        if isinstance(plain, LoaderValue) and isinstance(plain.sampler, NoSampler) and _shards(each):
            return each
    return None


def _shards(value: Value) -> bool:
    return isinstance(value, LoaderValue) and value.batch is not None and value.batch.rank.state is State.SHARD


def _is_of_job(frame: Frame, part: cst.BaseExpression) -> bool:
    """Whether a part of a condition is on how the job runs, or on a setting that does not say what a loader is for."""
    if any(JOB_SETTING.fits(each) or DISTRIBUTED_SETTING.fits(each) for each in identifiers(part)):
        return True
    arguments = set() if frame.function is None else {each.name for each in frame.function.parameters}
    if not isinstance(part, cst.Comparison) or not arguments.isdisjoint(_compared(part)):
        return False
    return not any(isinstance(each.comparator, cst.SimpleString) for each in part.comparisons)


def _compared(test: cst.Comparison) -> set[str]:
    """The names that a condition is on, without those of objects of which it reads something."""
    inside = {id(each.value) for each in of_class(test, cst.Attribute)}
    inside |= {id(each.value) for each in of_class(test, cst.Subscript)}
    return {each.value for each in value_names(test) if id(each) not in inside}
