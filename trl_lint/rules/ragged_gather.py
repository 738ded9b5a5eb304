"""Tensors whose shapes differ between ranks are gathered unpadded.

## What it does
Reports a tensor with a dimension that depends on this rank's own data, passed to `gather`, `gather_for_metrics`,
`reduce`, `broadcast` or a tensor collective of torch.distributed: a batch padded to its own longest sample, logits
with one row per token of it, rows padded by hand to `max(len(row) for row in rows)`, elements selected by a mask
(`x[mask]`, `torch.nonzero`), completions.

## Why is this bad?
Tensor collectives need equal shapes and do not check them. gloo aborts the process without a Python traceback; nccl
waits forever or mixes up the ranks' values. The code works as long as the shapes happen to match, as they do on one
GPU.

## Example
```python
metrics["logits"] = accelerator.gather_for_metrics(outputs.logits).mean().item()
entropies = accelerator.gather(entropies[mask.bool()])
```

## Use instead
```python
metrics["logits"] = accelerator.gather(outputs.logits.mean()).mean().item()
entropies = accelerator.gather(accelerator.pad_across_processes(entropies[mask.bool()], dim=0))
```

## Fix safety
- If the result is fully reduced right away, the tensor is reduced before the collective too: each rank sends one
  element, and the value on one process is the same. This is *safe* if every rank is known to get there together. For a
  mean it is *unsafe*: the mean of the ranks' means weighs them equally, however many elements each has. Gather sum and
  count if that matters.
- If every visible use of the result leaves the padding out (sums over the ragged dimension, where zeros add nothing,
  and `x[x != -100]`, with -100 as the padding), `pad_across_processes` is added along the ragged dimension. This is
  *unsafe*, because the result contains padding.
- It is a *hint* if the padding would be counted (`.mean()`, `.std()`, `.numel()`, a division) or the result is used in
  code that is not visible, if several dimensions are ragged, for containers, and if no `Accelerator` does the
  gathering.

## Limits
Only dimensions that are known to be ragged are reported. Dimension 0 of a batch is assumed to be equal on all ranks,
as Accelerate's loaders make it. A loop's batches are ragged only if a file shows that they are padded to their longest
sample: the file of the loop, of the loader, or of its collator or data set. A file that pads to a `max_length` or cuts
texts into blocks makes no ragged batches, and neither does a loader or trainer that gets its collator or data set from
such a file. Shapes from code outside the project, and shapes that differ on one path only, are not known.

## References
- https://github.com/huggingface/trl/pull/3056 (SFT), https://github.com/huggingface/trl/pull/3069 (CPO and ORPO) and
  https://github.com/huggingface/trl/pull/3964 (GRPO)
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.pad_across_processes
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.analysis.observers.backends import stays_on_cpu
from trl_lint.domain.kinds import shape_of
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Value
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said

_TRANSFERS = frozenset({"broadcast", "gathered", "reduced"})
_HELP = (
    "if the result is fully reduced, reduce before gathering (`gather(x.sum()).sum()`; for a mean, add up its sum "
    "and its count: {}); otherwise pad the tensor and its mask: {}"
)


class RaggedGather(Rule[CollectiveCalled]):
    code = "TRL005"
    name = "ragged-gather"
    consequences = (Consequence.DEADLOCK, Consequence.CRASH)

    def check(self, event: CollectiveCalled) -> Iterator[Violation]:
        if event.row.result not in _TRANSFERS:
            return
        part = next((part for part in event.parts if _is_ragged(part)), None)
        if part is None:
            return
        own_name = event.row.name.rpartition(".")[2]
        shape = shape_of(part)
        assert shape is not None
        yield Violation(
            event=event,
            message=(
                f"`{own_name}` gets a tensor whose shape differs between ranks: on several processes gloo aborts, "
                "nccl hangs or mixes up the ranks' values"
            ),
            provenance=Step(event.module, event.argument, shape.reason, part.provenance),
            help=_HELP.format(said("add up", event), said("pad", event)),
            consequence=Consequence.CRASH if stays_on_cpu(event.module) else Consequence.DEADLOCK,
        )


def _is_ragged(part: Value) -> bool:
    """Whether a part is known to be a tensor with a ragged dimension, of rank-local data."""
    shape = shape_of(part)
    return part.rank.differs and shape is not None and shape.is_ragged
