"""A sharded model is saved by some ranks only.

## What it does
Reports `save_state`, `get_state_dict`, `save_model` and their like where some ranks may not come to them
(`if accelerator.is_main_process: accelerator.save_state(folder)`), in a project that is shown to run under FSDP or
DeepSpeed. So it does a forward, or `generate`, of the model that the wrapper holds. The message names the engine and
the file that shows it: a configuration of accelerate or DeepSpeed, a launch command (`accelerate launch --use_fsdp`,
`deepspeed train.py`), code that makes one (`FullyShardedDataParallelPlugin`, `deepspeed.initialize`,
`TrainingArguments(fsdp="full_shard")`), or the setting `engines`.

## Why is this bad?
Where the model is sharded, each rank has a piece of every parameter, and to save the model the ranks gather them: a
collective, in which the main process waits for the others until the time-out, or takes part in their next collective
instead. To run the model each of its modules gathers its own parameters. DeepSpeed writes a checkpoint from all ranks
at every stage of ZeRO, as each has a part of the optimizer. Under DDP the same code works, so that tests without the
engine pass.

## Example
```python
if accelerator.is_main_process:
    accelerator.save_state(folder)
```

## Use instead
```python
accelerator.save_state(folder)  # the ranks that have nothing to write know it
```

And for the weights alone:
```python
state_dict = accelerator.get_state_dict(model)
if accelerator.is_main_process:
    accelerator.unwrap_model(model).save_pretrained(folder, state_dict=state_dict)
```

## Fix safety
The fix is unsafe: the call is taken out of the condition on the rank, so that all ranks make it, as TRL006 does it.
Under DDP each rank then writes its own random states beside the files of the main process. Where the condition is not
on the rank alone, or what stands before the call may not be fit for all ranks, there is only a hint.

## Limits
Silent where no engine is shown for the project, where DDP alone is, and in functions that ask for the engine
(`distributed_type`, `is_fsdp_enabled`, `deepspeed_plugin`). What is shown counts for the files of one project: the
nearest folder with a `pyproject.toml`, `setup.py`, `setup.cfg` or `requirements.txt`. Where launch commands there start
a program and say all that it is run with, they count for it, and for what it imports, with the settings that they name,
and no others do. `get_state_dict`, `save_model` and what runs the model are collectives under FSDP and ZeRO-3,
`save_state` under every stage of DeepSpeed; a stage that no file tells is taken for none that shards parameters. The
setting `engines` says it where no file does. What only settings show that launch commands leave aside, as they name
others, is there to be asked for.

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
from trl_lint.wording.divergence import chain, here, missed


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
                branch=event.condition.node if event.way_out else None,
                guard=event.condition,
                here=here(event),
                by_default=None if shown.chosen else False,
            )


def _is_of_uneven_data(event: Divergence) -> bool:
    """Whether it is run once for each piece of the data, `for at in range(0, len(x), 256): head(x[at:])`."""
    return event.sync_point.kind == OF_SHARDS and event.origins != Origin.RANK


def _message(event: Divergence, shown: ShownEngine) -> str:
    call = f"`{event.sync_point.name}`"
    who = "the others wait for them" if event.after else "some wait for the others"
    return f"{missed(event, call)}: under {ENGINE_NAMES[shown.engine]} ({shown.evidence}) {who} until the time-out"


def _help(event: Divergence) -> str:
    call = f"call `{event.sync_point.name}` on every rank"
    if event.after:
        return f"{call}, before ranks leave, or let all of them leave or none ({said('agree', event)})"
    if event.sync_point.kind == "save":
        return f"{call}, outside the condition: each writes what is its own"
    return f"{call}, before the condition, and use its result under it"
