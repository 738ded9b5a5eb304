"""A prepared schedule does not count the processes.

## What it does
Reports a schedule of a given number of steps (`get_scheduler`, `get_cosine_schedule_with_warmup`, `OneCycleLR`, …) that
goes through `accelerator.prepare`, if that number also ends the training loop, which counts each step once, or if it is
computed from the length of a loader over which the training goes, where that is prepared already, or if the number is
divided by that of the processes: those are the batches of one process.

Also reported is a schedule of torch (`StepLR`, `ExponentialLR`, `CosineAnnealingLR`, …) that goes through `prepare` and
makes its step once in each epoch, if its numbers do not count the processes.

## Why is this bad?
A prepared scheduler makes one step for each process whenever its `step` is called. On N processes, a schedule of
`max_train_steps` steps is over after 1/N of the training: the warm-up is N times shorter, and the rate is 0, or rises
again, for the rest. On one process the same code is right.

Accelerate expects a length that is computed from the loader before it is prepared: this one has N times as many batches
as each process gets. A number of steps that a user gives is not computed from it.

A factor `gradient_accumulation_steps` does not help: where Accelerate accumulates, the scheduler only makes its steps
with the last of these batches. With more batches than processes, such a schedule never reaches its end; with fewer, it
is over too early.

A prepared schedule that steps once in each epoch makes N steps there: `StepLR(optimizer, step_size=30)` lowers the rate
after 4 epochs on 8 processes, not after 30.

## Example
```python
lr_scheduler = get_scheduler(
    "cosine",
    optimizer=optimizer,
    num_warmup_steps=args.warmup_steps,
    num_training_steps=args.max_train_steps,
)
model, optimizer, lr_scheduler = accelerator.prepare(model, optimizer, lr_scheduler)
...
global_step += 1
if global_step >= args.max_train_steps:
    break
```

## Use instead
```python
    num_warmup_steps=args.warmup_steps * accelerator.num_processes,
    num_training_steps=args.max_train_steps * accelerator.num_processes,
```
Or leave the scheduler out of `prepare`, and call its `step` once for each step of the optimizer.

## Fix safety
Safe: it multiplies the lengths, which changes nothing on one process. Unsafe if it replaces the factor for
accumulation, as it changes the schedule on one process too. A *hint* if code computes the number from the loader where
none is given (`if args.max_train_steps is None: …`), as that number must not be multiplied, if the call does not say
it, or if a function returns the schedule, which others may call. Also for a step in each epoch, where leaving the
schedule out of `prepare` is the right way.

## Limits
Only reported if the file shows all of it: the call that makes the schedule, `prepare`, the Accelerator with its
settings (`split_batches` and `step_scheduler_with_optimizer` change the steps), and the loop with its end, which makes
a step in each turn, itself or in a function of the file that nothing else calls. A step in each epoch has to stand
beside a loop over a loader with the backward pass, under no condition and without a number of its own. A schedule that
is `"constant"` by default is not in the default set, nor one that a function returns for other settings than the
default. Schedules whose lambda knows the length, and DeepSpeed's, are not known.

## References
- https://github.com/huggingface/accelerate, `AcceleratedScheduler.step`
- https://github.com/huggingface/accelerate/issues/2318 and https://github.com/huggingface/accelerate/issues/662
- https://github.com/huggingface/diffusers/issues/3954 and https://github.com/huggingface/diffusers/pull/8312
- https://github.com/huggingface/transformers/issues/26827
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import SchedulePrepared
from trl_lint.analysis.trainer_events import EpochSchedulePrepared
from trl_lint.domain.provenance import Step
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source

_PREPARED = "`prepare` wraps it here, so that it steps for each process"


class UnscaledSchedulerSteps(Rule[SchedulePrepared | EpochSchedulePrepared]):
    code = "TRL020"
    name = "unscaled-scheduler-steps"
    consequences = (Consequence.WRONG_TRAINING,)
    preview = True

    def check(self, event: SchedulePrepared | EpochSchedulePrepared) -> Iterator[Violation]:
        if isinstance(event, EpochSchedulePrepared):
            yield _of_epochs(event)
            return
        schedule = event.schedule
        prepared = Step(event.module, schedule.prepared, _PREPARED)
        yield Violation(
            event=event,
            message=_message(event),
            provenance=Step(event.module, schedule.stepped, "the loop steps it here, once in each step", prepared),
            help=_help(event),
            by_default=not schedule.may_be_constant,
        )


def _of_epochs(event: EpochSchedulePrepared) -> Violation:
    prepared = Step(event.module, event.prepared, _PREPARED)
    return Violation(
        event=event,
        message="once prepared, this schedule makes a step for each process: on N processes it makes N in each epoch",
        provenance=Step(event.module, event.stepped, "the loop steps it here, once in each epoch", prepared),
        help="leave the schedule out of `prepare`; `register_for_checkpointing` keeps it in checkpoints",
    )


def _message(event: SchedulePrepared) -> str:
    schedule = event.schedule
    length = shown_source(event.module, schedule.length)
    chosen = ", unless it is constant" if schedule.may_be_constant else ""
    given = ", if that setting is given" if schedule.steps.filled_in else ""
    if schedule.steps.accumulation is not None and schedule.accumulates:
        factor = shown_source(event.module, schedule.steps.accumulation)
        return (
            f"once prepared, this schedule makes a step for each process, and none for accumulated batches: on N "
            f"processes it makes N of the `{length}` steps in each step of the training, not {factor}: it is over too "
            f"early if N is larger, and never reaches its end if N is smaller{given}{chosen}"
        )
    return (
        f"once prepared, this schedule makes a step for each process: on N processes `{length}` steps are over after "
        f"1/N of the training{given}{chosen}"
    )


def _help(event: SchedulePrepared) -> str:
    schedule = event.schedule
    number = f"`{schedule.accelerator or 'accelerator'}.num_processes`"
    if schedule.steps.accumulation is not None and schedule.accumulates:
        return f"multiply the steps of the warm-up and of the training by {number} instead"
    return f"multiply the steps of the warm-up and of the training by {number}"
