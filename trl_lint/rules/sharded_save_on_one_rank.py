"""Only some ranks save a sharded model.

## What it does
Reports `save_state`, `get_state_dict`, `save_model` and the like, where some ranks may not reach them (`if
accelerator.is_main_process: accelerator.save_state(folder)`), `state_dict()` of a model that the code wraps in FSDP
(`FSDP(net)`), and there a forward or `generate` of the model inside the wrapper, or of one that the code shards with
torch's FSDP (`FSDP(net)`, `fully_shard(net)`), that of DeepSpeed's engine (`engine(batch)`), and `generate` of the
wrapper itself, which runs the model inside, in projects that use FSDP or DeepSpeed. The message names the engine and
the file that shows it: a configuration of accelerate or DeepSpeed, a launch command (`accelerate launch --use_fsdp`,
`deepspeed train.py`), code (`FullyShardedDataParallelPlugin`, `FullyShardedDataParallel(…)`, `fully_shard(…)`,
`deepspeed.initialize`, `TrainingArguments(fsdp="full_shard")`), or the setting `engines`.

A rank that leaves a loop around such a forward by its own data is reported as well, if it asks for the elements of a
tensor (`if done.all(): break`): it has finished its answers, while others still generate theirs.

## Why is this bad?
Each rank of a sharded model holds a part of every parameter. Saving the model gathers them, which is a collective: the
main process waits for the others until the time-out, or pairs up with their next collective. Running the model gathers
the parameters of each module in the same way. DeepSpeed writes a checkpoint from all ranks at every ZeRO stage,
because each holds a part of the optimizer. Under DDP the same code works, so tests without the engine pass.

## Example
```python
if accelerator.is_main_process:
    accelerator.save_state(folder)
```

## Use instead
```python
accelerator.save_state(folder)  # the ranks that have nothing to write know it
```

For the weights alone:
```python
state_dict = accelerator.get_state_dict(model)
if accelerator.is_main_process:
    accelerator.unwrap_model(model).save_pretrained(folder, state_dict=state_dict)
```

## Fix safety
The fix is *unsafe*: the call is moved out of the condition on the rank, as TRL006 does, so that all ranks make it.
Under DDP each rank then writes its own random states next to the files of the main process. It is a *hint* if the
condition depends on more than the rank, or if the code before the call may not work on all ranks.

## Limits
Not reported if the project shows no engine or only DDP, and in functions that check for the engine (`distributed_type`,
`is_fsdp_enabled`, `deepspeed_plugin`), unless only to call `set_state_dict_type`. A project is the nearest folder with
a `pyproject.toml`, `setup.py`, `setup.cfg` or `requirements.txt`. If its launch commands fully describe how a program
is started, only they and the settings they name count, for the program and what it imports. Settings that launches
ignore, because they name others, give findings outside the default set.

`get_state_dict`, `save_model` and running the model are collectives under FSDP and ZeRO-3, `save_state` under every
stage of DeepSpeed, and TRL's `unwrap_model_for_generation` under ZeRO-3. An unknown stage is assumed not to shard
parameters. If no file shows the engine, use the setting `engines`. `state_dict()` of `FSDP(net)` is none in files that
mention `LOCAL_STATE_DICT`, which gathers nothing.

## References
- https://huggingface.co/docs/accelerate/usage_guides/fsdp#saving-and-loading
- https://huggingface.co/docs/accelerate/usage_guides/deepspeed#saving-and-loading
- https://deepspeed.readthedocs.io/en/latest/model-checkpointing.html (all processes must call `save_checkpoint`)
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import Divergence
from trl_lint.domain.engines import ENGINE_NAMES, ShownEngine
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import OF_SHARDS
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said
from trl_lint.wording.divergence import chain, here, missed, waiting


class ShardedSaveOnOneRank(Rule[Divergence]):
    code = "TRL016"
    name = "sharded-save-on-one-rank"
    consequences = (Consequence.DEADLOCK,)

    def check(self, event: Divergence) -> Iterator[Violation]:
        if not event.sync_point.engines or event.knows_sharding or _is_of_uneven_data(event):
            return
        shown = event.module.engines().one_of(event.sync_point.engines)
        if shown is not None:
            yield Violation(
                event=event,
                message=_message(event, shown),
                provenance=chain(event),
                help=_help(event),
                branch=event.condition.node if event.exit else None,
                guard=event.condition,
                here=here(event),
                by_default=None if shown.chosen else False,
            )


def _is_of_uneven_data(event: Divergence) -> bool:
    """Whether it runs once for each piece of the data, `for at in range(0, len(x), 256): head(x[at:])`.

    Not if a rank leaves a loop as soon as its own answers are done, while others still generate theirs.
    """
    from trl_lint.analysis.program.idioms.asked_elements import asks_for_elements

    if event.sync_point.kind != OF_SHARDS or event.origins == Origin.RANK:
        return False
    return event.exit != "break" or not asks_for_elements(event.condition.node)


def _message(event: Divergence, shown: ShownEngine) -> str:
    call = f"`{event.sync_point.name}`"
    under = f"under {ENGINE_NAMES[shown.engine]} ({shown.evidence})"
    return f"{missed(event, call)}: {under} {waiting(event)} until the time-out"


def _help(event: Divergence) -> str:
    call = f"call `{event.sync_point.name}` on every rank"
    if event.after:
        return f"{call}, before ranks leave, or let all ranks leave or none ({said('agree', event)})"
    if event.sync_point.kind == "save":
        return f"{call}, outside the condition: each rank writes its own part"
    return f"{call}, before the condition, and use its result inside it"
