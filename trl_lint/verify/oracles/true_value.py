"""*true value*: a metric is what one process computes on the same global batch.

The script runs once more as one plain process whose data loaders give batches as large as those of all ranks together.
Whether that is the same training is seen by the first loss, which nothing has been trained on yet, then by what Trainer
logs itself, or by the weights at the end. Where it is not (random generations, a sampler that only the ranks have, a
loss of uneven parts), nothing is said of the metrics.
"""

from __future__ import annotations

from statistics import fmean

from trl_lint.verify.oracles import training
from trl_lint.verify.oracles.logged import TRAINER, Metric, is_control, metrics_of
from trl_lint.verify.oracles.numbers import BETWEEN_RANKS, BETWEEN_RUNS, is_same, shown
from trl_lint.verify.traces import Run
from trl_lint.verify.verdicts import Verdict, failed, passed, unknown

ORACLE = "true value"
# Of one process and many, these differ by what they are.
PER_PROCESS = frozenset({"epoch", "total_flos", "train_loss"})
Pair = tuple[str, float, float]


def judge(run: Run, single: Run | None) -> Verdict:
    """Whether the metrics that rank 0 logs are those of the one process."""
    if single is None or not single.ranks or not single.ranks[0].ended_well:
        return unknown(ORACLE, "one process does not run to its end" if single else "not run on one process")
    if not all(rank.ended_well for rank in run.ranks):
        return unknown(ORACLE, "the run did not end")
    reason = _not_comparable(run, single)
    if reason:
        return unknown(ORACLE, f"one process can't be compared: {reason}")
    pairs = [pair for pair in _pairs(run, single) if pair is not None]
    if not pairs:
        return unknown(ORACLE, "no metric but Trainer's own is logged by both")
    wrong = [pair for pair in pairs if not is_same(pair[1], pair[2], BETWEEN_RUNS)]
    names = sorted({name for name, _, _ in wrong})
    if not wrong:
        count = len({name for name, _, _ in pairs})
        return passed(ORACLE, f"{count} metrics as one process has them on the same global batch")
    worst = {name: max((pair for pair in wrong if pair[0] == name), key=_apart) for name in names}
    return failed(
        ORACLE,
        "value",
        f"{', '.join(names)}: not what one process computes on the same global batch",
        [f"{name}: logged {shown(here)}, one process has {shown(there)}" for name, here, there in worst.values()],
        metrics={name: {"logged": here, "true": there} for name, here, there in worst.values()},
    )


def _apart(pair: Pair) -> float:
    return abs(pair[1] - pair[2])


def _pairs(run: Run, single: Run) -> list[Pair | None]:
    ours, theirs = metrics_of(run), metrics_of(single)
    shared = [key for key in ours if key in theirs and key[1] not in PER_PROCESS and not is_control(ours[key])]
    return [(key[1], *values) for key in shared for values in _values(ours[key], theirs[key])]


def _values(ours: Metric, theirs: Metric) -> list[tuple[float, float]]:
    here = ours.values.get(min(ours.values), {})
    there = theirs.values.get(0, {})
    return [(here[call], there[call]) for call in sorted(set(here) & set(there))]


def _first_losses(run: Run, single: Run) -> tuple[float, float] | None:
    """What the gradients of the first step belong to: the mean over the ranks, and the loss of the one process."""
    losses = [rank.losses[0] for rank in (*run.ranks, single.ranks[0]) if rank.losses]
    return (fmean(losses[:-1]), losses[-1]) if len(losses) == len(run.ranks) + 1 else None


def _not_comparable(run: Run, single: Run) -> str:
    """Why the one process does not train on the same batches in the same way ("" when it does)."""
    first = _first_losses(run, single)
    # In time a small difference grows beyond all bounds in a metric that is a difference itself.
    if first is not None and not is_same(*first, BETWEEN_RANKS, scale=1.0):
        return f"its first loss is {shown(first[1])}, the mean of the {len(run.ranks)} processes' is {shown(first[0])}"
    ours, theirs = metrics_of(run), metrics_of(single)
    key = (TRAINER, "loss")
    if key in ours and key in theirs:
        pairs = _values(ours[key], theirs[key])
        if len(ours[key].values.get(0, {})) != len(theirs[key].values.get(0, {})):
            return "it takes another number of steps"
        for here, there in pairs:
            if not is_same(here, there, BETWEEN_RUNS):
                return f"its loss is {shown(there)}, that of the {len(run.ranks)} processes {shown(here)}"
        return ""
    weights = training.difference(run.ranks[0].weights, single.ranks[0].weights)
    if weights is None:
        return "neither a loss nor weights tell that it trains the same way"
    return "" if weights <= BETWEEN_RUNS else f"its weights are another's in the end (by {weights:.1%})"
