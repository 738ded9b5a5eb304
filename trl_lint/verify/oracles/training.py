"""*same training*: all ranks, and a fixed copy, train the same.

Within a run all ranks end with the same weights if DDP handles them. Between a run and its fixed copy the losses, the
gradient norms and the final weights agree if the bug is only in the reporting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trl_lint.verify.oracles.tolerance import BETWEEN_RANKS, is_same
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Verdict, failed, passed, unknown

ORACLE = "same training"
NOTHING_SHARED = "no weights that DDP would keep the same"
Weights = list[list[float]] | None


def judge_ranks(run: Run) -> Verdict:
    """Whether all ranks have trained the same weights."""
    known = [rank for rank in run.ranks if rank.weights is not None and rank.replicas is not None]
    if len(known) < 2:
        is_sharded = any(any(rank.weight_shares) for rank in run.ranks)
        return unknown(ORACLE, "each rank has its own part of the weights" if is_sharded else NOTHING_SHARED)
    if len({rank.replicas for rank in known}) > 1:  # as each rank updates a part of them, and sends it to the others
        return unknown(ORACLE, "the optimizers of the ranks have different parameters")
    differences = [difference(known[0].weights, rank.weights) for rank in known[1:]]
    worst = max((each for each in differences if each is not None), default=math.inf)
    if worst <= BETWEEN_RANKS:
        return passed(ORACLE, f"the weights are the same on all {len(known)} ranks in the end")
    message = "are not all finite" if math.isinf(worst) else f"differ by {worst:.2%}"
    norms = [f"rank {rank.number}: norm of all weights {norm(rank.weights or []):.6g}" for rank in known]
    return failed(ORACLE, "weights", f"the ranks' weights {message}: gradients are not synchronised", norms)


def judge_pair(before: Run, after: Run) -> Verdict:
    """Whether a script and its fixed copy have trained the same."""
    if not all(rank.ended_well for run in (before, after) for rank in run.ranks):
        return unknown(ORACLE, "nothing to compare with: one of the two did not run to its end")
    rows = {
        "losses": _series(before, after, "losses"),
        "gradient norms": _series(before, after, "grad_norms"),
        "weights": _weights(before, after),
    }
    known = {name: value for name, value in rows.items() if value is not None}
    if not known:
        return unknown(ORACLE, "nothing was trained")
    changed = [name for name, value in known.items() if value > BETWEEN_RANKS]
    if changed:
        changes = ", ".join(f"{name} by {known[name]:.2%}" for name in changed)
        return failed(ORACLE, "training", f"the fix changes what is trained: {changes}")
    exact = all(value == 0 for value in known.values())
    how = "to the bit" if exact else f"within {max(known.values()):.1e}"
    return passed(ORACLE, f"{', '.join(known)} unchanged, {how}", (), **known)


def _series(before: Run, after: Run, name: str) -> float | None:
    """The largest relative difference between two runs' numbers, compared rank by rank."""
    pairs = [
        (old, new)
        for ours, theirs in zip(before.ranks, after.ranks, strict=False)
        for old, new in _paired(getattr(ours, name), getattr(theirs, name))
    ]
    return max((_relative(old, new) for old, new in pairs), default=None)


def _paired(old: Sequence[float | None], new: Sequence[float | None]) -> list[tuple[float, float]]:
    if len(old) != len(new):
        return [(0.0, math.inf)]
    return [(a, b) for a, b in zip(old, new, strict=True) if a is not None and b is not None]


def _weights(before: Run, after: Run) -> float | None:
    each = [difference(a.weights, b.weights) for a, b in zip(before.ranks, after.ranks, strict=False)]
    return max((value for value in each if value is not None), default=None)


def difference(ours: Weights, theirs: Weights) -> float | None:
    """The largest relative difference of two models' norms and sums, parameter by parameter."""
    if ours is None or theirs is None:
        return None
    if len(ours) != len(theirs):
        return math.inf
    return max((_difference_of(a, b) for a, b in zip(ours, theirs, strict=True)), default=0.0)


def _difference_of(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """For one parameter, the difference of norm and sum, relative to the norm."""
    size = max(ours[0], 1e-12)
    return max(_relative(a, b, size) for a, b in zip(ours, theirs, strict=True))


def _relative(a: float, b: float, scale: float = 0.0) -> float:
    if is_same(a, b, 0.0):
        return 0.0
    size = max(abs(a), abs(b), scale)
    return abs(a - b) / size if math.isfinite(size) and size else math.inf


def norm(weights: Sequence[Sequence[float]]) -> float:
    """The norm of all weights together."""
    return math.sqrt(sum(each[0] ** 2 for each in weights))
