"""A parameter of a model that may be sharded is used outside the context that gathers it.

## What it does
Reports `.weight` or `.bias` of (a part of) the model that is trained, handed to a function in code that a training
step reaches: the head's weight for a fused loss, say. It does so in a project that is shown to run under FSDP or
DeepSpeed ZeRO-3, and names the file that shows it: a configuration of accelerate or DeepSpeed, a launch command
(`accelerate launch --use_fsdp`), code that makes one (`FullyShardedDataParallelPlugin`,
`TrainingArguments(fsdp="full_shard")`), or the setting `engines`.

## Why is this bad?
Under DeepSpeed ZeRO-3 and FSDP each rank holds a piece of every parameter. They are put together while the module
that owns them runs its own forward. Read from outside, `lm_head.weight` is an empty tensor (ZeRO-3), a flat shard
(FSDP 1) or a DTensor (FSDP 2). The loss fails on its shape or its type, or is silently wrong: the norm of a DTensor is
on each rank that of its own part. DDP keeps the parameters whole, so that tests on DDP pass.

## Example
```python
loss = self.fused_loss(hidden, unwrapped_model.lm_head.weight, labels)
```

## Use instead
```python
with deepspeed.zero.GatheredParameters([unwrapped_model.lm_head.weight]):
    loss = self.fused_loss(hidden, unwrapped_model.lm_head.weight, labels)
```

Under FSDP that is `FSDP.summon_full_params(model)` (FSDP 1), `weight.full_tensor()` (FSDP 2), or the wrapper's own
forward that runs the loss. Where training needs the parameter's gradient, it has to stay gathered until the backward
pass is through.

## Fix safety
A hint: which context it needs depends on the engine, and on what is computed with the parameter.

## Limits
Silent where no engine that shards parameters is shown for the project, inside a `with` statement whose context manager
speaks of gathering (`GatheredParameters`, `summon_full_params`), for reference models, and where a function in sight
gets the parameter, which may gather it. A bias beside the weight of the same module is not told again. Writes to
parameters in callbacks are not seen, nor methods of the parameter (`weight.norm()`), which `trl-lint verify` judges.

## References
- https://github.com/huggingface/trl/pull/5891 (GRPO's fused loss read `lm_head.weight` under ZeRO-3)
- https://deepspeed.readthedocs.io/en/latest/zero3.html#gathering-parameters
- https://docs.pytorch.org/docs/2.13/distributed.tensor.html (`full_tensor`, `to_local`)
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import ParameterRead
from trl_lint.domain.engines import ENGINE_NAMES, SHARDS_PARAMETERS
from trl_lint.domain.provenance import Step
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation


class ShardedParameterRead(Rule[ParameterRead]):
    code = "TRL013"
    name = "sharded-parameter-read"
    consequences = (Consequence.CRASH,)

    def check(self, event: ParameterRead) -> Iterator[Violation]:
        shown = event.module.engines().one_of(SHARDS_PARAMETERS)
        if not event.trains or event.control.whole or shown is None:
            return
        yield Violation(
            event=event,
            message=(
                f"`.{event.attribute}` is used outside the forward of the module that owns it: under "
                f"{ENGINE_NAMES[shown.engine]} ({shown.evidence}) it is this rank's part, which may be empty"
            ),
            provenance=event.value.why
            or Step(event.module, event.node, "it is a parameter of the model that is trained"),
            help="gather it first (`deepspeed.zero.GatheredParameters`, `FSDP.summon_full_params`, `full_tensor()`)",
            by_hand="which context it needs depends on the engine",
            by_default=None if shown.chosen else False,
        )
