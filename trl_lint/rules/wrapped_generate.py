"""A wrapped model is asked to generate, or a bare one is prepared for it.

## What it does
Reports `generate` on a model that `DistributedDataParallel` or `DataParallel` wraps (the `model` of a Trainer's
hooks, `self.model_wrapped`, what `accelerator.prepare` returned), and `unwrap_model_for_generation` that is given the
bare model, as `self.model` of a Trainer is.

## Why is this bad?
DDP has no `generate`: the call works on one GPU and dies with `AttributeError` on two.

`unwrap_model_for_generation` has to get the wrapped model: under DeepSpeed ZeRO-3 it gathers the parameters and takes
the engine's hooks off while the model generates, and from the bare model it finds no engine. The hooks stay, each
layer's parameters are fetched and dropped anew for every token, ranks that generate for differing lengths wait for
each other, and the engine's record of the order of the layers is out of date in the next training step.

## Example
```python
def training_step(self, model, inputs, num_items_in_batch=None):
    ids = model.generate(**inputs)
```

## Use instead
```python
def training_step(self, model, inputs, num_items_in_batch=None):
    ids = self.accelerator.unwrap_model(model).generate(**inputs)
```

Where DeepSpeed ZeRO-3 may be used, `with unwrap_model_for_generation(model, self.accelerator) as unwrapped_model:` of
TRL gathers the parameters once for all tokens.

## Fix safety
Safe, both: it is the same model on one process. `model.generate(…)` becomes
`accelerator.unwrap_model(model).generate(…)`, which is what DeepSpeed's and FSDP's wrappers hand it on to; it is a hint
where no `Accelerator` is in reach. `unwrap_model_for_generation(self.model, …)` becomes
`unwrap_model_for_generation(self.model_wrapped, …)`.

## Limits
Generation from the bare model without that context manager is not reported, as it is right under DDP. With
`gather_deepspeed3_params=False` it takes no hooks off, and both models are right. FSDP and DeepSpeed hand `generate`
on: a program that asks for one of them itself (`TrainingArguments(fsdp="full_shard")`), a project whose launch commands
all start one, or whose setting `engines` names no other, is not asked about it. Under FSDP 2 that is right, and shown
at run time: ranks that generate for differing lengths go on with empty forwards until all are done. FSDP 1 fails there
with an error of its own, and under ZeRO-3 it is slow with the hooks on: neither is said. The bare model for
`unwrap_model_for_generation` is reported there as elsewhere.

## References
- https://github.com/huggingface/trl/pull/2871 (GRPO gave the bare model to `unwrap_model_for_generation`)
- https://huggingface.co/docs/trl/en/deepspeed_integration
- https://github.com/huggingface/transformers/issues/32285 (FSDP 1: `'weight' must be 2-D` from `generate`)
- transformers 4.51.3: integrations/fsdp.py::is_fsdp_managed_module (FSDP 2: `synced_gpus` by default)
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import AttributeRead, UnwrappedForGeneration
from trl_lint.domain.engines import HAND_ON_ATTRIBUTES
from trl_lint.domain.model_roles import is_data_parallel, is_trained, may_be_data_parallel
from trl_lint.domain.values import Wrapping
from trl_lint.findings import Consequence
from trl_lint.knowledge.mentions import either, named
from trl_lint.knowledge.models import FOR_GENERATION, GENERATES
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import owner_of, said


def _is_handed_on(event: AttributeRead) -> bool:
    """Whether the model is wrapped in engines only that have the method; the code's own DataParallel is none."""
    return not is_data_parallel(event.model) and event.module.engines().are_likely_only(HAND_ON_ATTRIBUTES)


class WrappedGenerate(Rule[AttributeRead | UnwrappedForGeneration]):
    code = "TRL010"
    name = "wrapped-generate"
    consequences = (Consequence.CRASH, Consequence.DEADLOCK)
    mentions = (either(named(GENERATES), named(FOR_GENERATION)),)

    def fails_in_one_process(self, event: AttributeRead | UnwrappedForGeneration) -> bool:
        return isinstance(event, AttributeRead) and may_be_data_parallel(event.model)

    def check(self, event: AttributeRead | UnwrappedForGeneration) -> Iterator[Violation]:
        if isinstance(event, AttributeRead):
            if event.attribute in GENERATES and not _is_handed_on(event):
                yield _generates(event)
        elif _is_trained(event):
            yield _unwraps(event)


def _generates(event: AttributeRead) -> Violation:
    model = owner_of(event)
    return Violation(
        event=event,
        message=(
            f"`.{event.attribute}` is called on `{model}`, a wrapped model: AttributeError under DDP and DataParallel"
        ),
        provenance=event.model.why,
        help=said("generate", event, model=model),
    )


def _is_trained(event: UnwrappedForGeneration) -> bool:
    """Whether it is the bare form of a model that a wrapper holds: others may have been prepared for evaluation."""
    return event.model.wrapping is Wrapping.UNWRAPPED or (
        event.model.wrapping is Wrapping.BARE and is_trained(event.model)
    )


def _unwraps(event: UnwrappedForGeneration) -> Violation:
    return Violation(
        event=event,
        site=Site(event.module, event.argument, event.owner),
        message=(
            "`unwrap_model_for_generation` gets the bare model: under DeepSpeed ZeRO-3 it finds no engine in it, "
            "whose hooks stay on while the model generates"
        ),
        provenance=event.model.why,
        help="give it the wrapped model: `self.model_wrapped`, or the `model` that the hook gets",
        # Ranks that have generated all they want take no part in gathering the parameters for the others.
        consequence=Consequence.DEADLOCK,
    )
