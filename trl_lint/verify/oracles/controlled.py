"""*true value* of controlled runs: the same weights at each step, the same rows, and no randomness.

A metric that still differs from that of one process is computed from different rows, or averaged over the ranks with
wrong weights. Two kinds are excluded, by a run in which each row is read twice:

- values that are neither a mean nor a sum over rows (a standard deviation, a loss with negatives from the batch,
  anything that depends on random draws): these change in that run;
- the loss itself, if each rank's is the mean over its own tokens: DDP averages gradients in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trl_lint.reports import many
from trl_lint.verify.oracles import training
from trl_lint.verify.oracles.logged_metrics import metrics_of
from trl_lint.verify.oracles.tolerance import BETWEEN_RANKS, BETWEEN_RUNS, all_same, as_text, is_same, mean
from trl_lint.verify.oracles.true_value import ORACLE, Pair, pairs_of, wrong
from trl_lint.verify.rank.reads import SINK
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Verdict, failed, passed, unknown

HOW = "in controlled runs: the same rows, no dropout, weights that move the same way"
# Weights and rows are the same, so that only rounding is left, which is larger in a difference of large numbers.
EXACT = 1e-4
# The smallest allowance for rounding, relative to the largest number in the logs that is no count: a metric may be a
# difference of numbers of that size.
OF_LARGEST = 1e-7
# A metric is wrong if it differs by more than this times its rounding, which the run shows that reads each row twice.
FURTHER = 20
# The tolerance for a metric that is derived from losses, and the largest factor between them: see `_is_loss`.
OF_LOSS = 1e-5
MOST_ACCUMULATED = 64


def not_comparable(run: Run, single: Run) -> str:
    """Why the one process is not comparable with all ranks ("" if it is)."""
    if not single.ranks or not single.ranks[0].ended_well:
        end = single.ranks[0].end if single.ranks else None
        error = f": {end.error}: {end.message}" if end is not None and end.error else ""
        return f"it does not run to its end{error}"
    if single.ranks[0].data_sets != run.ranks[0].data_sets:
        return "it has other data"
    if len(single.ranks[0].losses) != len(run.ranks[0].losses):
        return "it takes another number of steps"
    weights = training.difference(run.ranks[0].weights, single.ranks[0].weights)
    if weights is None:
        return "no weights tell that it is the same model"
    return "" if weights <= BETWEEN_RUNS else "it begins with other weights"


def has_data_of_each_rank(run: Run) -> bool:
    """Whether the ranks have different data sets, so that a row's number does not identify its content."""
    return any(rank.data_sets != run.ranks[0].data_sets for rank in run.ranks)


def judge(run: Run, single: Run, doubled: Callable[[], Run], is_own: Callable[[str], bool]) -> Verdict:
    """Whether the metrics of several processes are those of one. doubled: runs them with each row read twice."""
    pairs = pairs_of(run, single)
    has_same_losses = all(is_same(*each, _tolerance(run), scale=1.0) for each in _losses(run, single))
    claim = "as one process computes them on the same global batch"
    against = _ComparedWith("one process has", claim, has_same_losses, _are_weighted(run, single))
    return _judged(run, pairs, doubled, is_own, against)


def judge_dealt(
    run: Run, otherwise: Run, doubled: Callable[[], Run], is_own: Callable[[str], bool], why: str
) -> Verdict:
    """Whether the metrics are the same when the same global batches are distributed to the ranks in another way.

    why: the reason why one process can't be compared.
    """
    if not all(rank.ended_well for rank in otherwise.ranks):
        return unknown(ORACLE, f"one process can't be compared: {why}; dealt otherwise, it does not end")
    return _judged(run, pairs_of(run, otherwise), doubled, is_own, _BY_DEALING)


@dataclass(frozen=True, slots=True)
class _ComparedWith:
    """What a metric is compared with, in words.

    has_same_losses: the loss that is trained on is the same there. are_weighted: it may be a weighted mean of the
    ranks' losses.
    """

    there: str
    claim: str
    has_same_losses: bool = False
    are_weighted: bool = True


_BY_DEALING = _ComparedWith("dealt otherwise", "the same whoever reads which rows")


def _judged(
    run: Run, pairs: Sequence[Pair], doubled: Callable[[], Run], is_own: Callable[[str], bool], against: _ComparedWith
) -> Verdict:
    tolerance = _tolerance(run)
    own_pairs = [pair for pair in pairs if is_own(pair[0])]
    if not wrong(own_pairs, tolerance):  # otherwise the log is enough
        shared = _reads_same_on_all_ranks(run)
        own_pairs += [pair for pair in pairs if pair[0] in shared]
    if not own_pairs:
        return unknown(ORACLE, "no metric of the program's own is logged by both")
    worst = wrong(own_pairs, tolerance)
    same_count = len({name for name, _, _ in own_pairs} - set(worst))
    if not worst:
        return passed(ORACLE, f"{many(same_count, 'metric')} {against.claim}", [HOW])
    is_mixed = not against.are_weighted or any(rank.mixes_rows for rank in run.ranks)
    if is_mixed and not against.has_same_losses:
        return unknown(ORACLE, "the loss depends on which rows are in a batch together, or on how they are padded")
    left_out = _unusable(run, doubled(), worst, against.has_same_losses)
    if left_out is None:
        return unknown(ORACLE, "the loss is no mean over rows, or depends on chance: other batches give another one")
    differing = {name: pair for name, pair in worst.items() if name not in left_out}
    evidence = [
        f"{name}: {as_text(here)}, {against.there} {as_text(other)}" for name, (here, other) in differing.items()
    ]
    evidence += [f"{name}: not compared, as it is {why}" for name, why in left_out.items()]
    if differing:
        values = {name: {"logged": here, "true": other} for name, (here, other) in differing.items()}
        return failed(ORACLE, "value", f"{', '.join(differing)}: not {against.claim}", [*evidence, HOW], metrics=values)
    if same_count:
        return passed(ORACLE, f"{many(same_count, 'metric')} {against.claim}", [*evidence, HOW])
    return unknown(ORACLE, "; ".join(evidence))


def _tolerance(run: Run) -> float:
    return BETWEEN_RUNS if any(rank.low_precision for rank in run.ranks) else EXACT


def _reads_same_on_all_ranks(run: Run) -> set[str]:
    """The numbers that the program itself reads from tensors and that are the same on all ranks each time."""
    ranks = {rank.number for rank in run.ranks}
    reads = [metric for metric in metrics_of(run).values() if metric.sink == SINK and set(metric.values) == ranks]
    return {
        metric.name
        for metric in reads
        if len({len(values) for values in metric.values.values()}) == 1
        and all(all_same(values, BETWEEN_RANKS) for _, values in metric.rows(ranks))
    }


def _losses(run: Run, single: Run) -> list[tuple[float, float]]:
    """By step, the mean of the ranks' losses, and the loss of the one process."""
    return list(zip(_mean_losses(run), single.ranks[0].losses, strict=False))


def _are_weighted(run: Run, single: Run) -> bool:
    """Whether each loss of the one process lies between those of the ranks, as a mean of their rows does.

    It does not if a row's contribution depends on the other rows, for example by padding in a model without a mask.
    """
    steps = zip(zip(*(rank.losses for rank in run.ranks), strict=False), single.ranks[0].losses, strict=False)
    return all(
        min(ranks) <= one <= max(ranks) or any(is_same(one, each, BETWEEN_RANKS, scale=1.0) for each in ranks)
        for ranks, one in steps
    )


def _mean_losses(run: Run) -> list[float]:
    return [mean(step) for step in zip(*(rank.losses for rank in run.ranks), strict=False)]


def _unusable(
    run: Run, twice: Run, worst: Mapping[str, tuple[float, float]], has_same_losses: bool
) -> dict[str, str] | None:
    """The metrics that are inconclusive, and why; None if all are. twice: the run with each row read twice."""
    ended = bool(twice.ranks) and all(rank.ended_well for rank in twice.ranks)
    if not has_same_losses:
        is_mean = ended and _has_same_losses(run, twice)
        if not is_mean:
            return None
    rounding = _rounding(run, twice) if ended else {}
    least = OF_LARGEST * _largest(run)
    losses = [] if has_same_losses else _mean_losses(run)
    found = {}
    for name, (here, there) in worst.items():
        noise = rounding.get(name, 0.0)
        if noise is None:
            found[name] = "no mean or sum over rows"
        elif abs(here - there) <= max(FURTHER * noise, least):
            found[name] = "off by rounding"
        elif _is_loss(run, name, losses):
            found[name] = "the mean of the losses that are trained on"
        elif losses and _is_norm(run, name):
            found[name] = "the norm of the gradients of these losses"
    return found


def _has_same_losses(run: Run, twice: Run) -> bool:
    """Whether the losses of each rank stay the same when each row is read twice, as means over rows do."""
    return all(
        len(ours.losses) == len(theirs.losses)
        and all(is_same(a, b, BETWEEN_RUNS, scale=1.0) for a, b in zip(ours.losses, theirs.losses, strict=True))
        for ours, theirs in zip(run.ranks, twice.ranks, strict=True)
    )


def _rounding(run: Run, twice: Run) -> dict[str, float | None]:
    """The rounding error of metrics when each row is read twice, as means or as sums; None for any other metric."""
    before, after = metrics_of(run), metrics_of(twice)
    found: dict[str, float | None] = {}
    for key, metric in before.items():
        others = after[key].values if key in after else {}
        rows = [
            (value, others.get(rank, {}).get(call, math.nan))
            for rank, values in metric.values.items()
            for call, value in values.items()
        ]
        factor = next((each for each in (1, 2) if all(is_same(each * a, b, BETWEEN_RUNS) for a, b in rows)), None)
        found[key[1]] = None if factor is None else max((abs(a - b / factor) for a, b in rows), default=0.0)
    return found


def _largest(run: Run) -> float:
    """The largest absolute number in the logs that is no count."""
    values = (abs(value) for rank in run.ranks for log in rank.logs for value in log.values.values())
    return max((value for value in values if math.isfinite(value) and not value.is_integer()), default=0.0)


def _is_loss(run: Run, name: str, losses: Sequence[float]) -> bool:
    """Whether a metric is derived from the losses alone: of each interval between two logs, or of all so far.

    It may be e to their power, and a multiple: accumulated batches contribute only a part of the loss each.
    """
    return bool(losses) and all(
        _follows(_logs(values), losses) or _follows(values, losses) for values in _series(run, name)
    )


def _is_norm(run: Run, name: str) -> bool:
    """Whether each value of a metric is a gradient norm, as returned by clipping or seen by the optimizer."""
    first = run.ranks[0]
    norms = [*first.norms, *(each for each in first.grad_norms if each is not None)]
    return all(any(is_same(value, norm, OF_LOSS) for norm in norms) for each in _series(run, name) for value in each)


def _series(run: Run, name: str) -> list[list[float]]:
    """The first rank's values of the metrics of this name, one list per log sink."""
    found = (metric for key, metric in metrics_of(run).items() if key[1] == name)
    return [list(metric.values[min(metric.values)].values()) for metric in found]


def _logs(values: Sequence[float]) -> list[float]:
    return [math.log(value) if value > 0 else math.nan for value in values]


def _follows(values: Sequence[float], losses: Sequence[float]) -> bool:
    """Whether values are the last losses or the means of as many intervals, or of all losses up to their ends."""
    length = len(losses) // len(values)
    if not length:
        return False
    ends = range(length, length * len(values) + 1, length)
    series = (
        [losses[end - 1] for end in ends],
        [mean(losses[end - length : end]) for end in ends],
        [mean(losses[:end]) for end in ends],
    )
    return any(
        all(is_same(value, times * each, OF_LOSS) for value, each in zip(values, one, strict=True))
        for one in series
        for times in range(1, MOST_ACCUMULATED + 1)
    )
