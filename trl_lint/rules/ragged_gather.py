"""Tensors whose shape differs between ranks are gathered without padding.

## What it does
Reports a tensor with a dimension that this rank's own data decide on, handed to `gather`,
`gather_for_metrics`, `reduce`, `broadcast` or one of torch.distributed's tensor collectives: a batch that is
padded to its own longest sample, logits with one row per token of it, what a mask picks (`x[mask]`,
`torch.nonzero`), completions.

## Why is this bad?
Collectives of tensors take equal shapes and check nothing: gloo aborts the process without a Python
traceback, nccl waits for ever or puts one rank's numbers in another's place. It goes well as long as the
shapes happen to agree, as they do on one GPU.

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
Where the result is fully reduced right after, it is reduced before as well: what travels has one element, and
the value on one process is the same. That is safe where every rank is known to get there together; for a mean it
is unsafe, as the mean of the ranks' means weighs them equally however many elements each has (gather the
sum and the count where that matters). Where every use of the result in sight is shown to leave padding out (sums over
the ragged dimension, to which zeros add nothing, and `x[x != -100]`, where -100 becomes the padding),
`pad_across_processes` is put around the tensor along its one ragged dimension, which is unsafe: the padding is in the
result. Where it would be counted (`.mean()`, `.std()`, `.numel()`, a division) or the result goes out of sight, there
is a hint: add up sum and count over the ranks and divide once, or gather a mask with it. So there is where several
dimensions are ragged, in containers, and where no `Accelerator` does the gathering.

## Limits
Only dimensions that are known to be ragged are reported. The batch itself, dimension 0, is taken to be the same on
all ranks, as Accelerate's loaders make it. What a loop reads from its loader is ragged only where a file shows that
batches are padded to their longest sample: that of the loop, that which makes the loader, or that of its collator or
data set. A file that pads to a `max_length` or cuts texts into blocks makes no ragged batches, nor does a loader or a
trainer that is given a collator or a data set of such a file. Neither a shape that comes from code out of sight nor
one that differs on one way only is known.

## References
- https://github.com/huggingface/trl/pull/3056 (SFT), https://github.com/huggingface/trl/pull/3069 (CPO and ORPO)
  and https://github.com/huggingface/trl/pull/3964 (GRPO)
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
    "reduce it first where it is fully reduced afterwards (`gather(x.sum()).sum()`; for a mean, add up sum and count: "
    "{}), else pad it and its mask: {}"
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
                "nccl hangs or mixes the ranks' values up"
            ),
            provenance=Step(event.module, event.argument, shape.reason, part.why),
            help=_HELP.format(said("add up", event), said("pad", event)),
            consequence=Consequence.CRASH if stays_on_cpu(event.module) else Consequence.DEADLOCK,
        )


def _is_ragged(part: Value) -> bool:
    """Known to be one tensor with a ragged dimension, of this rank's own data."""
    shape = shape_of(part)
    return part.rank.differs and shape is not None and shape.is_ragged
