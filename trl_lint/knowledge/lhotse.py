"""Samplers of lhotse give each rank its own batches, without being told how many ranks there are.

Read from release 1.9 and from the sources of July 2026.
"""

from __future__ import annotations

from collections.abc import Collection

from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.torch_distributed import SHARDING_SAMPLER

# Those of them that pick the cuts themselves. `SingleCutSampler` is an old name of `SimpleCutSampler`.
# Source: lhotse/dataset/sampling/base.py `CutSampler._maybe_init_distributed`
_SAMPLERS = frozenset({
    "BucketingSampler", "CutPairsSampler", "DynamicBucketingSampler", "DynamicCutSampler", "SimpleCutSampler",
    "SingleCutSampler", "WeightedSimpleCutSampler",
})  # fmt: skip
# Arguments that may say that there is one rank.
_TOLD = frozenset({"rank", "world_size"})


def sharing_sampler(name: str, keywords: Collection[str]) -> Value | None:
    """A sampler of lhotse; unknown if it is told for which rank it is."""
    if not name.startswith("lhotse.") or name.rpartition(".")[2] not in _SAMPLERS:
        return None
    return SHARDING_SAMPLER if _TOLD.isdisjoint(keywords) else UNKNOWN
