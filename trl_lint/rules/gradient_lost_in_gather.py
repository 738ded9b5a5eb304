"""A loss of gathered copies, which have no gradient.

## What it does
Reports a collective that gathers what a model has computed (`accelerator.gather(features)`,
`dist.all_gather(rows, features)`), if a loss is computed from the result and a backward pass starts from that.

## Why is this bad?
`all_gather` fills tensors of its own, which are not part of the graph: also this rank's own rows come back as copies
without a gradient. A contrastive loss over the rows of all ranks then trains nothing, or only what reaches the loss on
another way: the other of two towers, a temperature, another term. Nothing fails unless the whole loss is cut off. On
one process these calls return the tensor itself, and the loss trains as it should.

## Example
```python
features = model(**batch)
rows = accelerator.gather(features)
loss = contrastive(rows)
accelerator.backward(loss)
```

## Use instead
```python
features = model(**batch)
rows = torch.cat(torch.distributed.nn.functional.all_gather(features))
loss = contrastive(rows)
accelerator.backward(loss)
```
This `all_gather` sends the gradients back to the ranks that the rows come from. With Lightning and Fabric it is
`all_gather(features, sync_grads=True)`. Or put the own rows back in their place (`rows[rank] = features`): these get a
gradient then, and as DDP averages over the ranks, it is too small by their number unless the loss is multiplied by it.

A loss that is gathered before its backward pass is the same mistake: `accelerator.backward(loss)` needs that of this
rank, whose gradients the wrapper averages.

## Fix safety
There is only a hint: where the gradients have to go is up to the loss.

## Limits
Only what a model in sight computes, where gradients are on, is known to be trained. Not reported: what is detached, or
gathered under `no_grad`; a number by which a loss is divided or multiplied; rows among which this rank's own are put
back; reductions in place, which leave a tensor in the graph; what a function out of sight computes from the copies;
unit tests.

## References
- https://docs.pytorch.org/docs/stable/distributed.html (`all_gather`), torch/distributed/nn/functional.py
- https://github.com/KevinMusgrave/pytorch-metric-learning/pull/364
- https://github.com/facebookresearch/multimodal/pull/361
- https://github.com/JDAI-CV/fast-reid/commit/3d1bae9f13c34c901015d0036a6f41110564aa03
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.gradient_events import GradientCut
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source


class GradientLostInGather(Rule[GradientCut]):
    code = "TRL029"
    name = "gradient-lost-in-gather"
    consequences = (Consequence.WRONG_TRAINING,)
    preview = True

    def check(self, event: GradientCut) -> Iterator[Violation]:
        if event.module.one_process or event.loss is None:
            return
        gathered = shown_source(event.module, event.argument)
        rest = "trains nothing" if event.whole else "has no gradient through them"
        yield Violation(
            event=event,
            message=(
                f"what this gathers of `{gathered}` are copies without a gradient, this rank's own rows among them: on "
                f"several GPUs the loss that is computed from them {rest}"
            ),
            provenance=event.loss,
            help=(
                "gather with `torch.distributed.nn.functional.all_gather`, which has a backward pass, or put this "
                "rank's own rows back in their place"
            ),
        )
