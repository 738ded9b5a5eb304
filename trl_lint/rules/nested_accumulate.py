"""`accumulate` inside `accumulate` counts each batch twice.

## What it does
Reports `with accelerator.accumulate(unet), accelerator.accumulate(text_encoder):`, and one `accumulate` inside another
of the same Accelerator, also in a function that is called there.

## Why is this bad?
Each `accumulate` that is entered counts a batch, whatever it is given, and `gradient_accumulation_steps` of them make a
step. With two, every batch counts twice:

- the first of the two models is under `no_sync` in each batch with which the optimizer steps, because one count earlier
  the step is not complete yet. Its gradients are not averaged there, so on several GPUs each rank trains its own copy,
  and only that of rank 0 is saved. With an even number of accumulation steps they are never averaged, except at the end
  of an epoch;
- with an even number the optimizer steps twice as often as asked for: with 2, after every batch. So it does on one
  process.

Nothing fails. With 1 accumulation step nothing is wrong. If the first model is not wrapped, only the count is wrong,
and the message says so.

## Example
```python
accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
...
with accelerator.accumulate(unet), accelerator.accumulate(text_encoder):
    loss = compute_loss(unet, text_encoder, batch)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
```

## Use instead
```python
with accelerator.accumulate(unet, text_encoder):
    ...
```
From accelerate 0.22 on, `accumulate` takes several models, and counts the batch once for all of them.

## Fix safety
One call with all models takes the place of those of one `with` statement. It is *unsafe*, because it changes how often
the optimizer steps, on one process too. Only a *hint* if the calls are in several statements or functions, or if a
release of accelerate before 0.22 is in use.

## Limits
Not reported: an Accelerator that is created without a number of accumulation steps, or with the constant 1; calls of
two Accelerators; files with `sync_each_batch`; programs of one process; an `accumulate` that `ExitStack.enter_context`
enters, or that is chosen by a condition. Calls in two functions are taken to be of one Accelerator if it has the same
name in both, and their files create only one.

## References
- `Accelerator.accumulate` and `Accelerator._do_sync` (accelerate/accelerator.py): each call adds 1 to the Accelerator's
  `step`, in all releases from 0.12 to 1.15; `accumulate(*models)` since 0.22
- https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation
- examples/custom_diffusion/train_custom_diffusion.py (huggingface/diffusers) and
  examples/boft_controlnet/train_controlnet.py (huggingface/peft), from which programs have copied it
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.gradient_events import BatchCountedAgain
from trl_lint.domain.provenance import Step
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source


class NestedAccumulate(Rule[BatchCountedAgain]):
    code = "TRL023"
    name = "nested-accumulate"
    consequences = (Consequence.WRONG_TRAINING,)

    def check(self, event: BatchCountedAgain) -> Iterator[Violation]:
        if event.module.one_process:
            return
        inside = event.entered.inside
        first = Step(event.module, event.entered.calls[0], "this `accumulate` counts the batch first", inside)
        yield Violation(event=event, message=_message(event), provenance=first, help=_help(event))


def _message(event: BatchCountedAgain) -> str:
    calls, inside = event.entered.calls, event.entered.inside
    count = len(calls) + (inside is not None)
    what = "this call enters one `accumulate` inside another" if inside else "one `accumulate` is inside another"
    times = "twice" if count == 2 else f"{count} times"
    what = f"{what}, and each counts the batch, so that it counts {times}"
    if not event.entered.is_wrapped:
        number = "an even number" if count == 2 else f"a multiple of {count}"
        return f"{what}: with {number} of accumulation steps the optimizer steps {times} as often as asked for"
    models = [shown_source(event.module, each.value) for each in calls[0].args]
    whose = f"`{models[0]}`" if count == 2 and len(models) == 1 else "some models"
    return (
        f"{what}: on several GPUs the gradients of {whose} are not averaged when the optimizer steps, and each rank "
        "trains its own copy"
    )


def _help(event: BatchCountedAgain) -> str:
    if event.entered.inside is not None:
        return "enter `accumulate` in one of the two functions only, and pass it all models"
    callee = shown_source(event.module, event.entered.calls[0].func)
    models = dict.fromkeys(shown_source(event.module, arg) for call in event.entered.calls for arg in call.args)
    return f"count it once for all models: `with {callee}({', '.join(models)}):`"
