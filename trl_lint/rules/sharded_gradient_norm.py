"""Under FSDP, each rank clips by its own norm.

## What it does
Reports `torch.nn.utils.clip_grad_norm_` on the parameters of a model that `FullyShardedDataParallel` (FSDP 1) wraps
with a strategy that shards: all but `NO_SHARD`. The parameters may be filtered first
(`[p for p in model.parameters() if p.requires_grad]`).

## Why is this bad?
Under FSDP 1 each rank holds a part of each gradient, as an ordinary tensor. The function takes the norm of these parts,
which is smaller than that of the whole gradient and differs between the ranks. Each rank scales its parts by a factor
of its own, so that the direction of the step changes, and the norm that is let through grows with the number of ranks.
A norm that is logged is that of one rank's parts. Nothing fails: with gradients of norm 69.3 on two processes, the
ranks found 41.7 and 55.3.

## Example
```python
model = FSDP(model, auto_wrap_policy=policy)
...
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
```

## Use instead
```python
model = FSDP(model, auto_wrap_policy=policy)
...
loss.backward()
model.clip_grad_norm_(1.0)
optimizer.step()
```

`clip_grad_norm_` of the outermost wrapper adds up the norms of all ranks. All ranks have to call it.

## Fix safety
The call is replaced by that of the wrapper's method. This is *unsafe*, because it changes what is trained, and because
all ranks then have to reach the call together. It is a *hint* if only some of the parameters are passed, if the model
is not a name or an attribute, or for arguments that the method does not have (`error_if_nonfinite`).

## Limits
Not reported: FSDP 2 (`fully_shard`), whose DTensors know of the other parts; models that Accelerate, a Trainer,
Lightning or DeepSpeed wraps; parts of a wrapped model; models that only one of several ways wraps, or that reach the
call through an optimizer or a container; calls in a function that calls or names the method as well, or below a test
for the engine or the class of the model, there or in a caller; `with FSDP.summon_full_params(…, with_grads=True)`; unit
tests. A strategy that comes from a setting is taken to be one that shards, unless the file names only `NO_SHARD`. Norms
that are computed by hand are not seen.

## References
- https://docs.pytorch.org/docs/stable/fsdp.html (`FullyShardedDataParallel.clip_grad_norm_`: torch's own function is
  for `NO_SHARD` alone)
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.gradient_events import ShardsClipped
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source


class ShardedGradientNorm(Rule[ShardsClipped]):
    code = "TRL024"
    name = "sharded-gradient-norm"
    consequences = (Consequence.WRONG_TRAINING,)

    def check(self, event: ShardsClipped) -> Iterator[Violation]:
        model = shown_source(event.module, event.owner)
        yield Violation(
            event=event,
            message=(
                f"FSDP shards `{model}`: this is the norm of each rank's own parts of the gradients, so that each rank "
                f"clips by a factor of its own"
            ),
            provenance=event.model.provenance,
            help=f"call `{model}.clip_grad_norm_(…)` of the wrapper on all ranks, which takes the norm of all parts",
        )
