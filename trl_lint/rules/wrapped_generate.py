"""`generate` is called on a wrapped model, or a bare one is prepared for it.

## What it does
Reports `generate` on a model wrapped in `DistributedDataParallel` or `DataParallel` (the `model` of a Trainer's hooks,
`self.model_wrapped`, the result of `accelerator.prepare`), and `unwrap_model_for_generation` with the bare model, such
as `self.model` of a Trainer.

## Why is this bad?
DDP has no `generate`: the call works on one GPU and fails with `AttributeError` on two.

`unwrap_model_for_generation` needs the wrapped model. Under DeepSpeed ZeRO-3 it gathers the parameters and removes the
engine's hooks during generation; given the bare model, it does not find the engine. The hooks then fetch and drop each
layer's parameters for every token, ranks that generate different lengths wait for each other, and the engine's record
of the layer order is out of date in the next training step.

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

If DeepSpeed ZeRO-3 may be used, TRL's `with unwrap_model_for_generation(model, self.accelerator) as unwrapped_model:`
gathers the parameters once for all tokens.

## Fix safety
Both fixes are *safe*: on one process it is the same model. `model.generate(…)` becomes
`accelerator.unwrap_model(model).generate(…)`, which the wrappers of DeepSpeed and FSDP forward to as well; without an
`Accelerator` it is a *hint*. `unwrap_model_for_generation(self.model, …)` becomes
`unwrap_model_for_generation(self.model_wrapped, …)`.

## Limits
Generating with the bare model without that context manager is correct under DDP and not reported. With
`gather_deepspeed3_params=False` the hooks stay anyway, and both models are correct.

FSDP and DeepSpeed forward `generate`, so it is not reported in a program that requests one of them
(`TrainingArguments(fsdp="full_shard")`), or in a project that only launches one of them or whose setting `engines`
names no other. This is correct under FSDP 2, where ranks with shorter outputs run empty forwards until all are done
(shown at run time). FSDP 1 fails there with an error of its own, and ZeRO-3 is slow with its hooks on; neither is
reported. The bare model for `unwrap_model_for_generation` is reported in all projects.

For `prediction_step`, Trainer wraps the model in DataParallel only. If all known launches start several processes, only
`--extend-select TRL010` reports `generate` there. In a program that makes one GPU visible
(`os.environ["CUDA_VISIBLE_DEVICES"] = "0"`) nothing is reported, if no launch in the project starts several processes.

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
from trl_lint.domain.model_roles import is_data_parallel, is_evaluated, is_trained, may_be_data_parallel
from trl_lint.domain.values import Wrapping
from trl_lint.findings import Consequence
from trl_lint.knowledge.mentions import either, named
from trl_lint.knowledge.models import FOR_GENERATION, GENERATES
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import owner_of, said


def _is_handed_on(event: AttributeRead) -> bool:
    """Whether the model is only wrapped by engines that have the method; the code's own DataParallel has not."""
    return not is_data_parallel(event.model) and event.module.engines().are_likely_only(HAND_ON_ATTRIBUTES)


class WrappedGenerate(Rule[AttributeRead | UnwrappedForGeneration]):
    code = "TRL010"
    name = "wrapped-generate"
    consequences = (Consequence.CRASH, Consequence.DEADLOCK)
    says_what_fails = True
    mentions = (either(named(GENERATES), named(FOR_GENERATION)),)

    def fails_in_one_process(self, event: AttributeRead | UnwrappedForGeneration) -> bool:
        return isinstance(event, AttributeRead) and may_be_data_parallel(event.model)

    def check(self, event: AttributeRead | UnwrappedForGeneration) -> Iterator[Violation]:
        if isinstance(event, AttributeRead):
            if event.attribute in GENERATES and not _is_handed_on(event) and not event.module.sees_one_gpu:
                yield _generates(event)
        elif _is_trained(event):
            yield _unwraps(event)


def _generates(event: AttributeRead) -> Violation:
    model = owner_of(event)
    evaluated = is_evaluated(event.model)
    where = "DataParallel" if evaluated else "DDP and DataParallel"
    return Violation(
        event=event,
        message=f"`.{event.attribute}` is called on `{model}`, a wrapped model: AttributeError under {where}",
        provenance=event.model.provenance,
        help=said("generate", event, model=model),
        by_default=False if evaluated and event.module.engines().always_several else None,
    )


def _is_trained(event: UnwrappedForGeneration) -> bool:
    """Whether it is the unwrapped form of a wrapped model: other models may have been prepared for evaluation."""
    return event.model.wrapping is Wrapping.UNWRAPPED or (
        event.model.wrapping is Wrapping.BARE and is_trained(event.model)
    )


def _unwraps(event: UnwrappedForGeneration) -> Violation:
    return Violation(
        event=event,
        site=Site(event.module, event.argument, event.function),
        message=(
            "`unwrap_model_for_generation` gets the bare model: under DeepSpeed ZeRO-3 it does not find the engine, "
            "and the engine's hooks stay on during generation, which is slow and may hang"
        ),
        provenance=event.model.provenance,
        help="pass the wrapped model: `self.model_wrapped`, or the `model` that the hook receives",
        # Ranks that have finished their generation do not help to gather the parameters for the others.
        consequence=Consequence.DEADLOCK,
    )
