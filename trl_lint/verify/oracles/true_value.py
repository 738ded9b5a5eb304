"""*true value*: a metric is what one process computes on the same global batch.

The script runs once more as one plain process whose data loaders yield batches as large as those of all ranks together.
Whether that is the same training is checked with the first loss, before anything is trained, then with what Trainer
itself logs, or with the final weights. If it is not (random generations, a sampler that only the ranks use, a loss of
uneven parts), the metrics are not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trl_lint.reports import many
from trl_lint.verify.oracles import training
from trl_lint.verify.oracles.logged_metrics import TRAINER, Metric, is_control, metrics_of
from trl_lint.verify.oracles.tolerance import BETWEEN_RANKS, BETWEEN_RUNS, as_text, is_same, mean
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Verdict, failed, passed, unknown

ORACLE = "true value"
# Metrics that by their nature differ between one process and several.
PER_PROCESS = frozenset({"epoch", "eval_loss", "total_flos", "train_loss"})
Pair = tuple[str, float, float]


def judge(run: Run, single: Run | None, is_own: Callable[[str], bool] = lambda name: True) -> Verdict:
    """Whether the metrics that rank 0 logs are those of the one process.

    is_own: whether the program itself names a metric. Those logged by its libraries are reported, but do not fail: how
    they average is not the program's choice.
    """
    if not all(rank.ended_well for rank in run.ranks):
        return unknown(ORACLE, "the run did not end")
    if single is None or not single.ranks or not single.ranks[0].ended_well:
        return unknown(ORACLE, "one process does not run to its end" if single else "not run on one process")
    reason = _not_comparable(run, single)
    if reason:
        return unknown(ORACLE, f"one process can't be compared: {reason}")
    pairs = pairs_of(run, single)
    if not pairs:
        return unknown(ORACLE, "no metric but Trainer's own is logged by both")
    worst = wrong(pairs)
    own = {name: pair for name, pair in worst.items() if is_own(name)}
    evidence = [
        f"{name}: logged {as_text(here)}, one process has {as_text(there)}{'' if name in own else ' (not its own)'}"
        for name, (here, there) in worst.items()
    ]
    if not own:
        same_count = len({name for name, _, _ in pairs} - set(worst))
        return passed(
            ORACLE, f"{many(same_count, 'metric')} as one process has them on the same global batch", evidence
        )
    return failed(
        ORACLE,
        "value",
        f"{', '.join(own)}: not what one process computes on the same global batch",
        evidence,
        metrics={name: {"logged": here, "true": there} for name, (here, there) in own.items()},
    )


def judge_bare(run: Run, single: Run | None, gpus: int) -> Verdict:
    """Whether one process with several GPUs calls `backward` on the loss that one process has on the same batch.

    Only a loss of a part of the batch, and one divided by the number of GPUs, are recognised; any other may be that of
    another batch.
    """
    if not all(rank.ended_well for rank in run.ranks):
        return unknown(ORACLE, "the run did not end")
    if run.ranks[0].scattered:
        given, kept = run.ranks[0].scattered
        message = (
            f"DataParallel hands {kept} of the {given} rows of a batch to its {gpus} GPUs: the others train nothing"
        )
        return failed(ORACLE, "rows", message, given=given, kept=kept)
    if single is None or not single.ranks or not single.ranks[0].losses or not run.ranks[0].losses:
        return unknown(ORACLE, "there is no loss of one process to compare with")
    here, there = run.ranks[0].losses[0], single.ranks[0].losses[0]
    if is_same(here, there, BETWEEN_RUNS):
        return passed(ORACLE, "the first loss is that of one process on the same batch")
    if not is_same(here * gpus, there, BETWEEN_RUNS):
        return unknown(ORACLE, "one process can't be compared: it has another first loss")
    message = (
        f"the first loss is {as_text(here)}: that of one process on the same batch, {as_text(there)}, divided by {gpus}"
    )
    return failed(ORACLE, "loss", message, loss=here, true=there)


def wrong(pairs: Sequence[Pair], tolerance: float = BETWEEN_RUNS) -> dict[str, tuple[float, float]]:
    """By metric that is not the same, the two values that differ most."""
    worst: dict[str, tuple[float, float]] = {}
    for name, here, there in sorted(pairs):
        is_further = name not in worst or abs(here - there) > abs(worst[name][0] - worst[name][1])
        if is_further and not is_same(here, there, tolerance):
            worst[name] = (here, there)
    return worst


def pairs_of(run: Run, single: Run) -> list[Pair]:
    ours, theirs = metrics_of(run), metrics_of(single)
    shared = [key for key in ours if key in theirs and key[1] not in PER_PROCESS and not is_control(ours[key])]
    rows = {key: _values(ours[key], theirs[key]) for key in shared}
    return [(key[1], *row) for key, values in rows.items() if not _counts(values, run.world_size) for row in values]


def _counts(rows: Sequence[tuple[float, float]], world_size: int) -> bool:
    """Whether a metric follows from the number of processes, not from data: `batch_size * num_processes`."""
    if world_size < 2 or not all(value.is_integer() for row in rows for value in row):
        return False
    factors = ((1, world_size), (world_size, 1))
    is_constant = len(rows) > 1 and all(row == rows[0] for row in rows)
    return is_constant or any(all(a * x == b * y for a, b in rows) for x, y in factors)


def _values(ours: Metric, theirs: Metric) -> list[tuple[float, float]]:
    here = ours.values.get(min(ours.values), {})
    there = theirs.values.get(0, {})
    return [(here[call], there[call]) for call in sorted(set(here) & set(there))]


def _first_losses(run: Run, single: Run) -> tuple[float, float] | None:
    """The losses of the first gradients: the mean over the ranks, and that of the one process."""
    losses = [rank.losses[0] for rank in (*run.ranks, single.ranks[0]) if rank.losses]
    return (mean(losses[:-1]), losses[-1]) if len(losses) == len(run.ranks) + 1 else None


def _not_comparable(run: Run, single: Run) -> str:
    """Why the one process does not train on the same batches in the same way ("" if it does)."""
    first = _first_losses(run, single)
    # Over time a small difference grows without bound in a metric that is itself a difference.
    if first is not None and not is_same(*first, BETWEEN_RANKS, scale=1.0):
        return (
            f"its first loss is {as_text(first[1])}, the mean of the {len(run.ranks)} processes' is {as_text(first[0])}"
        )
    norms = [rank.grad_norms[0] for rank in (run.ranks[0], single.ranks[0]) if rank.grad_norms and rank.grad_norms[0]]
    # The first loss may not depend on the data at all: that of DPO is log 2, whatever the pairs.
    if len(norms) == 2 and not is_same(norms[0], norms[1], BETWEEN_RUNS):
        return f"its first gradients are of norm {as_text(norms[1])}, those of the processes of {as_text(norms[0])}"
    ours, theirs = metrics_of(run), metrics_of(single)
    if (TRAINER, "grad_norm") in ours and (TRAINER, "grad_norm") in theirs:  # before they are clipped
        first_norms = _values(ours[TRAINER, "grad_norm"], theirs[TRAINER, "grad_norm"])[:1]
        if not all(is_same(here, there, BETWEEN_RUNS) for here, there in first_norms):
            return "its first gradients are others"
    key = (TRAINER, "loss")
    if key in ours and key in theirs:
        pairs = _values(ours[key], theirs[key])
        if len(ours[key].values.get(0, {})) != len(theirs[key].values.get(0, {})):
            return "it takes another number of steps"
        for here, there in pairs:
            if not is_same(here, there, BETWEEN_RUNS):
                return f"its loss is {as_text(there)}, that of the {len(run.ranks)} processes {as_text(here)}"
        return ""
    weights = training.difference(run.ranks[0].weights, single.ranks[0].weights)
    if weights is None:
        return "neither a loss nor weights tell that it trains the same way"
    return "" if weights <= BETWEEN_RUNS else f"its weights are another's in the end (by {weights:.1%})"
