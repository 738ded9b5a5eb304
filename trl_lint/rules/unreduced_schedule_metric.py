"""Each rank lowers the learning rate by its own metric.

## What it does
Reports `scheduler.step(metric)` of a `ReduceLROnPlateau` with a metric that is computed from this rank's own data: the
loss of a validation that each rank runs on its share, the training loss of its batches; or with one that is reduced to
one rank (`dist.reduce(loss, dst=0)`), as the others still have their own. And any schedule of torch that only the main
process steps (`if rank == 0: scheduler.step()`), in a loop in which all ranks train. Also a rate that a method of a
`TrainerCallback` or of a Trainer's heir sets by hand (`group["lr"] *= 0.5`), on some ranks only (`if not
state.is_world_process_zero: return`), or on each by its own data.

## Why is this bad?
The schedule lowers the learning rate once the metric has not improved for some steps, and each process has a schedule
and a metric of its own. On several GPUs they lower it at different times. Gradients are averaged over the ranks, but
each rank then steps with a learning rate of its own, so that the copies of the model drift apart. Nothing fails: the
model that is saved is that of one rank, which was trained with the gradients of all the others' copies.

## Example
```python
val_loss = validate(model, val_loader)  # of this rank's share
scheduler.step(val_loss)
```

## Use instead
```python
val_loss = validate(model, val_loader)
val_loss = accelerator.reduce(torch.tensor(val_loss, device=accelerator.device), reduction="mean").item()
scheduler.step(val_loss)
```

## Fix safety
There is only a hint: whether the value is a mean, a sum or a ratio decides how to reduce it.

## Limits
Only torch's `ReduceLROnPlateau` is known, not those of other libraries, nor schedules of the project. What Lightning
monitors for such a schedule is not seen: there, log it with `sync_dist=True` (TRL003). Not reported: values that are
unknown; a step that only some ranks make, unless the loop around it trains, and outside of their branch only, steps
this schedule nowhere else and sends nothing to the others; a rate that the method sets in two places; unit tests. If
the function has reduced something of the value before, in a way that is not understood, the finding is not in the
default set.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
- torch/optim/lr_scheduler.py `ReduceLROnPlateau.step`: it compares the number that it is passed, on each process
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.gradient_events import LoneScheduleStep, RateSet, ScheduleStepped
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source

_ON_SEVERAL = "on several GPUs the ranks train with different learning rates, and their models drift apart"
_OWN = "`{}` is computed from this rank's own data"


class UnreducedScheduleMetric(Rule[LoneScheduleStep | RateSet | ScheduleStepped]):
    code = "TRL028"
    name = "unreduced-schedule-metric"
    consequences = (Consequence.WRONG_TRAINING,)
    preview = True

    def check(self, event: LoneScheduleStep | RateSet | ScheduleStepped) -> Iterator[Violation]:
        if event.module.one_process:
            return
        if isinstance(event, RateSet):
            yield _by_hand(event)
        else:
            yield _alone(event) if isinstance(event, LoneScheduleStep) else _by_own_metric(event)


def _by_hand(event: RateSet) -> Violation:
    test = None if event.test is None else shown_source(event.module, event.test)
    why = "by a value of its own" if test is None else f"by `{test}`, which differs between them"
    how = "make the decision on all ranks, from what they share, or send them what one has decided: `broadcast`"
    return Violation(
        event=event,
        message=f"each rank sets this learning rate {why}: {_ON_SEVERAL}",
        provenance=event.decided_by,
        help=how,
    )


def _alone(event: LoneScheduleStep) -> Violation:
    test = shown_source(event.module, event.test)
    return Violation(
        event=event,
        message=f"only ranks where `{test}` is true make this step of the schedule: {_ON_SEVERAL}",
        provenance=event.condition,
        help="make the step on all ranks, outside of this branch",
    )


def _by_own_metric(event: ScheduleStepped) -> Violation:
    is_of_one = event.value.rank.is_of_root
    in_doubt = not is_of_one and _may_be_reduced(event)
    metric = shown_source(event.module, event.metric)
    own = f"only one rank has the result of the reduction in `{metric}`" if is_of_one else _OWN.format(metric)
    return Violation(
        event=event,
        message=f"{own}, and each rank lowers its learning rate by it: {_ON_SEVERAL}",
        provenance=event.value.provenance,
        help="reduce the metric over the ranks on all of them first, and pass the result",
        by_default=False if in_doubt else None,
        in_doubt=in_doubt,
    )


def _may_be_reduced(event: ScheduleStepped) -> bool:
    """Whether the function, or one that it calls for the value, reduces something of it before."""
    from trl_lint.analysis.program.idioms.near_reductions import Caller, may_be_reduced
    from trl_lint.analysis.transfer.processes.near_callees import called

    return may_be_reduced(Caller(event.module, event.function), event.node, called)
