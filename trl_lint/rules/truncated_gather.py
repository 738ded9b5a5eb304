"""`gather_for_metrics` of one value per rank drops ranks on an uneven last batch.

## What it does
Reports `gather_for_metrics` of a tensor that is known to hold one value of this rank (a sum, a mean, a loss), where
batches of a prepared loader are trained on: in a trainer's steps, and in loops that compute gradients.

## Why is this bad?
Accelerate pads the last batch so that all ranks have equally many samples, and `gather_for_metrics` cuts the padding
off again: it keeps the first `len(dataset) % (batch_size * num_processes)` rows of what it has gathered. With one
value per rank, that drops whole ranks. With 9 samples, batches of 2 and 2 ranks, it returns one rank's value as if it
were the sum or mean of both.

In the very last batch, the dropped ranks only train on copies. But transformers' `Trainer` (since 4.46) fetches all
batches of an accumulated step at once. With `gradient_accumulation_steps` above 1, the loader is already at its end
during the first of them, so in all batches of an epoch's last step, ranks with samples of their own are dropped.

## Example
```python
def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    tokens = self.accelerator.gather_for_metrics(inputs["attention_mask"].sum()).sum()
```

## Use instead
```python
def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    tokens = self.accelerator.gather(inputs["attention_mask"].sum()).sum()
```

## Fix safety
`gather_for_metrics` becomes `gather`. The value on one process is the same, because a tensor without dimensions is
never cut. The fix is *safe* if every rank is known to get there together, *unsafe* if that is not known, and a *hint*
if ranks may diverge or if a keyword is passed that `gather` does not accept.

## Limits
One value per sample (`gather_for_metrics((predictions, labels))` in an evaluation loop) is what the function is for.
Evaluations are not reported, because copies do not take part in them. Nothing is cut outside a loader's loop, with
`drop_last`, or if at least as many samples are left over as there are ranks, which is not known before the run. A
Trainer that names a class of the project for its settings has `drop_last` if that class always sets it to True.

Findings have to be asked for (`--select TRL014`): what is missing is some ranks' part of one logged value per epoch.
Without accumulation, only values of ranks with nothing but copies are cut off, unless a sampler repeats samples, as
that of GRPO does. Of 390 findings in other people's code, all read, 207 are true and in use, each of them a point of a
curve.

## References
- https://github.com/huggingface/trl/pull/3482 (GRPO: `gather_for_metrics` to `gather`)
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.gather_for_metrics
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.domain.provenance import Step, is_of_full_batches
from trl_lint.domain.values import Kind, Value
from trl_lint.findings import Consequence
from trl_lint.knowledge.accelerate import CUTS_REST
from trl_lint.knowledge.mentions import named
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source


class TruncatedGather(Rule[CollectiveCalled]):
    code = "TRL014"
    name = "truncated-gather"
    consequences = (Consequence.WRONG_NUMBER,)
    mentions = (named([CUTS_REST]),)

    def check(self, event: CollectiveCalled) -> Iterator[Violation]:
        if not event.cuts_ranks or not event.parts or not all(map(_is_one_value, event.parts)):
            return
        yield Violation(
            event=event,
            message=(
                f"`gather_for_metrics` gets one value per rank (`{shown_source(event.module, event.argument.value)}`): "
                "on an epoch's last, uneven batch it keeps only the first of them, so that with several processes "
                "those of some ranks are missing"
            ),
            provenance=event.parts[0].provenance or Step(event.module, event.argument, "`{}` is this rank's own value"),
            help="use `gather` for values that are not one per sample",
            by_default=False,
        )


def _is_one_value(part: Value) -> bool:
    """Whether a part is certainly a tensor with one element, computed from rank-local data that may be uneven."""
    return part.kind is Kind.TENSOR and part.scalar and part.rank.differs and not is_of_full_batches(part.provenance)
