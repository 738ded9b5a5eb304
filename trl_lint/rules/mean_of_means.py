"""The ranks' means are averaged, although each has its own count.

## What it does
Reports an average over the ranks (`gather(m).mean()`, `.nanmean()`, `reduce(m, "mean")`, `all_reduce` with
`ReduceOp.AVG` or divided by the world size) of a mean whose number of elements depends on each rank's data: a masked
sum over the sum of its mask, `x[mask].mean()`, `nanmean()`, a loss that ignores labels, the error rate of its texts
(`jiwer.wer`, or errors over `len(text.split())`).

## Why is this bad?
A rank with ten tokens counts as much as one with a thousand. The logged value is not the mean over all tokens, and it
changes with the number of GPUs and the distribution of rows. A rank without any tokens contributes whatever prevents a
division by zero. Nothing fails.

## Example
```python
mean_kl = (kl * mask).sum() / mask.sum()
self._metrics[mode]["kl"].append(self.accelerator.gather(mean_kl).mean().item())
```

## Use instead
```python
kl_sum, kl_count = self.accelerator.reduce(torch.stack([(kl * mask).sum(), mask.sum()]), reduction="sum")
mean_kl = kl_sum / kl_count
self._metrics[mode]["kl"].append(mean_kl.item())
```

## Fix safety
Sum and count are added up over the ranks and divided once. On one process that is the same division of the same
numbers. A guard against zero (`.clamp(min=1)`) is applied to the total count.

- *Safe* if every rank is known to get there together.
- *Unsafe* if that is not known, or if sum or count is a Python number, which becomes a tensor.
- A *hint* if sum and count are not in the function that averages (a helper computes them) or may have changed since,
  if the ranks' means are used for more than their average, and for means of selected elements.

## Limits
Means over the rows of a batch are correct, because all ranks have equally many. So are minima, maxima and sums, means
weighted by their counts, and the training loss (`model(...).loss`): gradients are averaged over the ranks, so the
average of their losses is what is optimised. So are scores of samples (Dice, intersection over union, a metric whose
decorator calls it once per sample), and the mean over batches of one mean each, kept in a list or added up in a loop:
it counts each batch the same on one process, too. A mean is only reported if its count is known to depend on the data.

## References
- https://github.com/huggingface/trl/pull/6380 (GRPO and RLOO logged means of the ranks' token means)
- https://github.com/huggingface/trl/pull/1499 (KTO)
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.reduce
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import Averaged
from trl_lint.domain.averaging import Mean, MeanForm
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import said

_MESSAGE = (
    "the ranks' means are averaged, although each rank has its own number of {what}: on several GPUs a rank with few "
    "of them counts as much as one with many"
)
_WHAT = {
    MeanForm.RATIO: "elements",
    MeanForm.SELECTED: "selected elements",
    MeanForm.NAN: "values that are not NaN",
    MeanForm.LOSS: "labels",
    MeanForm.RATE: "words or characters",
}
_HELP = {
    "reduce": "add up the sum and the count over the ranks, and divide once: {}, then `total / count`",
    "helper": "pass it the sum and the count instead of the mean: add up both over the ranks and divide once",
}


class MeanOfMeans(Rule[Averaged]):
    code = "TRL007"
    name = "mean-of-means"
    consequences = (Consequence.WRONG_NUMBER,)
    # Dropping ranks from the last mean of an epoch also gives ranks wrong weights in all other means.
    covers = frozenset({"TRL014"})

    def check(self, event: Averaged) -> Iterator[Violation]:
        if any(mean.trained for mean in event.means):
            return
        mean = _first(event)
        passing = [Site(write.module, write.node, event.function) for write in event.passed_by]
        for site in passing or (Site(event.module, event.node, event.function),):
            yield Violation(
                event=event,
                site=site,
                message=_MESSAGE.format(what=_WHAT[mean.form]),
                provenance=mean.provenance,
                help=_HELP["helper" if event.passed_by else "reduce"].format(
                    said("add up", event, event.payload.accelerator)
                ),
            )


def _first(event: Averaged) -> Mean:
    """The mean used in the explanation, always the same one."""
    return min(event.means, key=lambda mean: (mean.form, mean.order))
