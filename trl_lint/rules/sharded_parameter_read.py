"""A parameter that may be sharded is used without gathering it.

## What it does
Reports `.weight` or `.bias` of (a part of) the trained model, passed to a function in code that a training step
reaches, such as the head's weight for a fused loss. It does so in projects that use FSDP or DeepSpeed ZeRO-3, and
names the file that shows it: a configuration of accelerate or DeepSpeed, a launch command
(`accelerate launch --use_fsdp`), code (`FullyShardedDataParallelPlugin`, `TrainingArguments(fsdp="full_shard")`), or
the setting `engines`.

## Why is this bad?
Under DeepSpeed ZeRO-3 and FSDP, each rank holds a part of every parameter. The parts are gathered while the module
that owns them runs its own forward. Read from outside, `lm_head.weight` is an empty tensor (ZeRO-3), a flat shard
(FSDP 1) or a DTensor (FSDP 2). The loss fails on its shape or type, or is silently wrong: the norm of a DTensor is the
norm of each rank's own part. DDP keeps parameters whole, so tests under DDP pass.

## Example
```python
loss = self.fused_loss(hidden, unwrapped_model.lm_head.weight, labels)
```

## Use instead
```python
with deepspeed.zero.GatheredParameters([unwrapped_model.lm_head.weight]):
    loss = self.fused_loss(hidden, unwrapped_model.lm_head.weight, labels)
```

Under FSDP, use `FSDP.summon_full_params(model)` (FSDP 1), `weight.full_tensor()` (FSDP 2), or let the wrapper's
forward run the loss. If training needs the parameter's gradient, keep it gathered until the backward pass is done.

## Fix safety
A *hint*: the right context depends on the engine, and on what is computed with the parameter.

## Limits
Not reported if the project shows no engine that shards parameters, inside a `with` whose context manager gathers
(`GatheredParameters`, `summon_full_params`), for reference models, and if a function of the project receives the
parameter, because it may gather it. A bias next to a reported weight of the same module is not reported again. Writes
to parameters in callbacks, and methods of a parameter (`weight.norm()`), are not seen; `trl-lint verify` checks the
latter. Under FSDP 2, accelerate 1.15 keeps the last norm and the head whole from forward to backward pass, where
their weights can be read, which ZeRO-3, FSDP 1 and older releases do not allow.

## References
- https://github.com/huggingface/trl/pull/5891 (GRPO's fused loss read `lm_head.weight` under ZeRO-3)
- https://deepspeed.readthedocs.io/en/latest/zero3.html#gathering-parameters
- accelerate 1.15.0, accelerate/utils/fsdp_utils.py `fsdp2_prepare_model` (`reshard_after_forward=False` for the head)
- https://docs.pytorch.org/docs/2.13/distributed.tensor.html (`full_tensor`, `to_local`)
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import ParameterRead
from trl_lint.domain.engines import ENGINE_NAMES, SHARDS_PARAMETERS, TrainingEngine
from trl_lint.domain.provenance import Step
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation

# How each engine gathers a parameter.
_GATHERS = {
    TrainingEngine.DEEPSPEED_ZERO3: "`with deepspeed.zero.GatheredParameters(…):`",
    TrainingEngine.FSDP: "`with FSDP.summon_full_params(…):`, or `.full_tensor()` of a DTensor",
}


class ShardedParameterRead(Rule[ParameterRead]):
    code = "TRL013"
    name = "sharded-parameter-read"
    consequences = (Consequence.CRASH,)

    def check(self, event: ParameterRead) -> Iterator[Violation]:
        shown = event.module.engines().one_of(SHARDS_PARAMETERS)
        if not event.trains or event.control.parameters_gathered or shown is None:
            return
        yield Violation(
            event=event,
            message=(
                f"`.{event.attribute}` is used outside the forward of the module that owns it: under "
                f"{ENGINE_NAMES[shown.engine]} ({shown.evidence}) it is only this rank's part, which may be empty"
            ),
            provenance=event.value.provenance
            or Step(event.module, event.node, "it is a parameter of the model that is trained"),
            help=f"gather it first: {_GATHERS[shown.engine]}",
            by_hand="the code does not show how long the gathered parameter is needed",
            by_default=None if shown.chosen else False,
        )
