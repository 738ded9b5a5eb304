"""`gather_for_metrics` of one value per rank drops ranks on the last uneven batch.

## What it does
Reports `gather_for_metrics` of a tensor that is known to hold one value of this rank (a sum, a mean, a loss) where
a batch of a prepared loader is trained on: in the steps of a trainer, and in loops that compute gradients.

## Why is this bad?
Accelerate fills the last batch up, so that all ranks have equally many samples, and `gather_for_metrics` cuts
what was added off: of what it has gathered it keeps the first `len(dataset) % (batch_size * num_processes)`
rows. Of one value per rank that leaves out whole ranks: with 9 samples, batches of 2 and 2 ranks, it gives one
rank's value, as if it were the sum, or the mean, of both. In the very last batch those are ranks that train on copies
only. But transformers' `Trainer` (from 4.46 on) fetches all batches of an accumulated step at once, and with
`gradient_accumulation_steps` above 1 the loader is at its end while the first of them is worked on: of all batches
of an epoch's last step, ranks are left out that hold samples of their own.

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
`gather_for_metrics` becomes `gather`; everything else stays. It is safe where every rank is known to get there
together, unsafe where that is not known, a hint where ranks may differ, and where a keyword is given that `gather`
does not take. The value on one process is the same: a tensor without dimensions can't be cut.

## Limits
One value per sample (`gather_for_metrics((predictions, labels))` in an evaluation loop) is what the function is
for, and nothing is said of evaluations, which copies have no part in. Nothing is cut outside of a loader's loop, with
`drop_last`, or where at least as many samples are left over as there are ranks; whether they are is not known
before the run. Where all launches in sight set `dataloader_drop_last`, in their words, in the settings that they name
or in the program, a finding is not in the default set.

## References
- https://github.com/huggingface/trl/pull/3482 (GRPO: `gather_for_metrics` to `gather`)
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.gather_for_metrics
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import CollectiveCalled, shown_source
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Kind, Value
from trl_lint.findings import Consequence
from trl_lint.knowledge.mentions import named
from trl_lint.rules.base import Rule, Violation

_NAME = "accelerate.Accelerator.gather_for_metrics"


class TruncatedGather(Rule[CollectiveCalled]):
    code = "TRL014"
    name = "truncated-gather"
    consequences = (Consequence.WRONG_NUMBER,)
    mentions = (named([_NAME]),)

    def check(self, event: CollectiveCalled) -> Iterator[Violation]:
        if event.row.name != _NAME or not event.stepping:
            return
        if not event.parts or not all(map(_is_one_value, event.parts)):
            return
        yield Violation(
            event=event,
            message=(
                f"`gather_for_metrics` gets one value per rank (`{shown_source(event.module, event.argument.value)}`): "
                "on an epoch's last, uneven batch it keeps the first of them only, and with several processes the "
                "values of some ranks are missing"
            ),
            provenance=event.parts[0].why or Step(event.module, event.argument, "this rank's own value"),
            help="gather values that are not one per sample with `gather`",
            by_default=False if event.module.engines().drops_last else None,
        )


def _is_one_value(part: Value) -> bool:
    """Certain to be a tensor with one element, computed from this rank's own data."""
    return part.kind is Kind.TENSOR and part.scalar and part.rank.differs
