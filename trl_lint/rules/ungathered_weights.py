"""One rank's shards are saved as the model.

## What it does
Reports `save_pretrained` without `state_dict=`, and `state_dict()` that the same function saves, of the model inside
the wrapper of an engine that shards it, in projects that use DeepSpeed ZeRO-3 or FSDP:
`accelerator.unwrap_model(model).save_pretrained(folder)`, `trainer.model.save_pretrained(folder)`,
`torch.save(engine.module.state_dict(), path)`; and of a model that a Trainer was given and has trained, by the name
that it had before. With `fully_shard(model)` there is no wrapper: it reports `model.save_pretrained(folder)` and
`torch.save(model.state_dict(), path)` where some ranks do so alone (`if rank == 0:`). The message names the engine and
the file that shows it: a configuration of accelerate or DeepSpeed, a launch command, code, or the setting `engines`.

## Why is this bad?
Each rank holds a part of every parameter. The module inside the wrapper does not gather them when it is asked for its
weights:

- Under ZeRO-3, all parameters but the smallest are empty tensors outside a forward. The file has the names of all
  weights and the values of none, and the training is lost. Nothing fails before the file is loaded.
- Under FSDP 2 the weights are DTensors, which `save_pretrained` cannot write: it raises after the training. Under FSDP
  1 those of the outermost unit, which has the embeddings and the head, are flat pieces, and the others are gathered in
  collectives, so that one rank that saves alone waits for the others.

Under DDP and ZeRO-1 or 2 the same code works, so tests without the engine pass.

## Example
```python
model = accelerator.unwrap_model(model)
if accelerator.is_main_process:
    model.save_pretrained(folder)
```

## Use instead
```python
state_dict = accelerator.get_state_dict(model)  # all ranks have to call it
if accelerator.is_main_process:
    accelerator.unwrap_model(model).save_pretrained(folder, state_dict=state_dict)
```

Without Accelerate, `get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))` of
`torch.distributed.checkpoint.state_dict` on all ranks, or `torch.distributed.checkpoint.save`, which writes all parts.

With a Trainer, `trainer.save_model(folder)` on all ranks. Under ZeRO-3 both need
`stage3_gather_16bit_weights_on_model_save: true` in the configuration of DeepSpeed.

## Fix safety
Where all ranks reach it, `trainer.model.save_pretrained(folder)` becomes `trainer.save_model(folder)`, and
`accelerator.unwrap_model(model).save_pretrained(folder)` gets `state_dict=accelerator.get_state_dict(model)`. Both are
*unsafe*: the Trainer also writes its tokenizer and arguments, and all ranks gather the weights. It is a *hint*
elsewhere.

## Limits
Not reported if the project shows no such engine; in functions that check for the engine
(`is_deepspeed_zero3_enabled()`, `distributed_type`) or are for TPUs; in a `with` statement that gathers
(`GatheredParameters`, `summon_full_params`) or sets `state_dict_type`; for classes of the project that save themselves;
for a model whose layers are spread over the GPUs of a process (`device_map="auto"`); in unit tests. Under FSDP, files
that mention PEFT are left alone, as its adapters are wrapped each for itself. Settings that no known launch names give
findings outside the default set. That other files refuse an option under ZeRO-3 is not seen.

## References
- https://huggingface.co/docs/accelerate/usage_guides/deepspeed#saving-and-loading
- https://huggingface.co/docs/accelerate/usage_guides/fsdp#saving-and-loading
- peft 0.21.2, peft/utils/save_and_load.py: warns of adapters with empty tensors, for this reason
- https://github.com/huggingface/transformers/issues/20082, https://github.com/huggingface/peft/issues/1443 (parameters
  of size 0 in the file)
- https://github.com/01-ai/Yi/pull/155
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.checkpoint_events import ShardsSaved
from trl_lint.domain.engines import ENGINE_NAMES, SHARDS_PARAMETERS, EnginesInUse, ShownEngine, TrainingEngine
from trl_lint.domain.model_roles import has_dtensors
from trl_lint.findings import Consequence
from trl_lint.knowledge.models import GIVEN_WEIGHTS
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source

_EMPTY = "nearly all of its weights are empty on each rank, and so they are in the file"
_PARTS = "each rank has only parts of its weights, so that saving fails, or what is saved cannot be loaded"
_FSDP = frozenset({TrainingEngine.FSDP})
_ZERO3 = frozenset({TrainingEngine.DEEPSPEED_ZERO3})


class UngatheredWeights(Rule[ShardsSaved]):
    code = "TRL027"
    name = "ungathered-weights"
    consequences = (Consequence.WRONG_TRAINING, Consequence.CRASH)
    preview = True

    def check(self, event: ShardsSaved) -> Iterator[Violation]:
        engines = event.module.engines()
        shown = _engine(event, engines)
        if shown is None or event.module.one_process:
            return
        are_empty = shown.engine is TrainingEngine.DEEPSPEED_ZERO3
        saved = shown_source(event.module, event.owner)
        yield Violation(
            event=event,
            message=(
                f"`{saved}` is saved without its weights being gathered: under {ENGINE_NAMES[shown.engine]} "
                f"({shown.evidence}) {_EMPTY if are_empty else _PARTS}"
            ),
            provenance=event.model.provenance,
            help=_help(event),
            consequence=Consequence.WRONG_TRAINING if are_empty else Consequence.CRASH,
            by_default=None if shown.chosen and _is_launched(event, engines, shown) else False,
        )


def _engine(event: ShardsSaved, engines: EnginesInUse) -> ShownEngine | None:
    """The engine that shards the model: code of another program says nothing about this one."""
    if has_dtensors(event.model):
        return engines.one_of(_FSDP)
    sharding = _ZERO3 if event.by_adapters else SHARDS_PARAMETERS
    chosen = sharding.intersection(engines.chosen_by_program)
    return engines.one_of(chosen) or engines.without_code().one_of(sharding)


def _is_launched(event: ShardsSaved, engines: EnginesInUse, shown: ShownEngine) -> bool:
    """Whether more than a file beside others says that the program runs under an engine."""
    return has_dtensors(event.model) or engines.launched or bool(engines.chosen_by_program) or not shown.where


def _help(event: ShardsSaved) -> str:
    if event.trainer is not None:
        if event.is_given_whole:
            return f"pass on `{GIVEN_WEIGHTS}`, the weights that the Trainer has gathered"
        trainer = shown_source(event.module, event.trainer)
        own = "" if trainer == "self" else f"call `{trainer}.save_model(…)` on all ranks, which gathers them, or "
        return f"{own}pass `state_dict={trainer}.accelerator.get_state_dict({trainer}.model_wrapped)`, on all ranks"
    if has_dtensors(event.model):
        model = shown_source(event.module, event.owner)
        options = "options=StateDictOptions(full_state_dict=True)"
        return f"gather them on all ranks with `get_model_state_dict({model}, {options})`, and save these"
    if event.accelerator:
        wrapped = "model" if event.wrapped is None else shown_source(event.module, event.wrapped)
        return f"gather them on all ranks with `{event.accelerator}.get_state_dict({wrapped})`, and save these"
    return "gather them on all ranks first, as `engine.save_16bit_model(…)` does, or `FSDP.summon_full_params(…)`"
