"""Loaders that a function gives a sampler which shards on one way out only: each rank may have its own batches.

    def loaders(args, rows):
        if args.is_dist:
            sampler = DistributedSampler(rows)
            return DataLoader(rows, sampler=sampler), sampler
        return DataLoader(rows), None           of the first loader, each rank gets its own batches

As after a condition that chooses between two loaders, see `loaders_with_sampler.py`.
"""

from __future__ import annotations

from trl_lint.analysis.interpreter.conditions.loaders_with_sampler import divided
from trl_lint.analysis.interprocedural.wrapped_returns import deciding
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import TupleValue
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Kind, Value


def with_sampled_way(frame: Frame, result: Value) -> Value:
    """The result of a function, with the loaders that have such a sampler if that is so."""
    ways = [items_or_itself(value) for value, _ in frame.returned]
    if len(ways) != 2 or len(ways[0]) != len(ways[1]) or not any(each.kind is Kind.LOADER for each in ways[0]):
        return result
    decided = deciding(frame)
    if decided is None or (isinstance(result, TupleValue) and len(result.items) != len(ways[0])):
        return result
    yes, no = (dict(zip(map(str, range(len(way))), way, strict=True)) for way in ways)
    loaders = divided(frame, decided[0].test, yes, no)
    if not isinstance(result, TupleValue):
        return loaders.get("0", result)
    return result.with_parts(tuple(loaders.get(str(place), item) for place, item in enumerate(result.items)))
