"""A model spread over all GPUs is trained on several processes.

## What it does
Reports a model loaded with `device_map="auto"` (or `"balanced"`, `"balanced_low_0"`, `"sequential"`) that is passed to
a `Trainer` or to `accelerator.prepare`, in a program that the project starts on several processes: `torchrun
--nproc_per_node 8 train.py`, `accelerate launch --num_processes 4 train.py`, or a launch whose accelerate configuration
says so. The message names the file with that launch.

## Why is this bad?
`device_map="auto"` places the layers of one model on all GPUs that the process sees. This is for one process. With
several, each of them takes all GPUs, and Accelerate refuses to wrap such a model, under DDP, FSDP and DeepSpeed:
`ValueError: You can't train a model that has been loaded with device_map='auto' in any distributed mode`. On one GPU,
and under bare `python`, the same code works.

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name, quantization_config=config, device_map="auto")
trainer = SFTTrainer(model=model, train_dataset=dataset)  # accelerate launch --num_processes 8 train.py
```

## Use instead
No `device_map` at all: the trainer moves the model to the GPU of its process. A quantized model is loaded onto that
GPU:
```python
device_map = {"": PartialState().local_process_index}
model = AutoModelForCausalLM.from_pretrained(name, quantization_config=config, device_map=device_map)
```
A model that does not fit on one GPU needs FSDP or DeepSpeed ZeRO-3 instead, or one process (`python train.py`).

## Fix safety
A *hint*: which of these is right depends on the size of the model and the memory of the GPUs.

## Limits
Not reported if no launch in the project says that it starts several processes of the program on one machine, if the
device map comes from a setting or is chosen by a condition (`device_map = {"": rank} if ddp else "auto"`; an option
for the number of GPUs counts as these launches give it, and `torch.cuda.is_available()` is true), for models that are
not passed to a trainer, and in files that set `ACCELERATE_BYPASS_DEVICE_MAP`. A model that fits on the first GPU may be
placed there as a whole, and works.

## References
- https://github.com/huggingface/accelerate, `Accelerator.prepare_model` and `Accelerator.verify_device_map`
- https://huggingface.co/docs/accelerate/concept_guides/big_model_inference
- https://github.com/IlyaGusev/rulm/commit/bab39326362b7e6a28dcc446ed537712b391e4e6 and
  https://github.com/shibing624/MedicalGPT/commit/47aa98da0d3c137764f96bd88e7e83c71077bdf0
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import SpreadModelTrained
from trl_lint.domain.provenance import Step
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Site, Violation


class SpreadModelTraining(Rule[SpreadModelTrained]):
    code = "TRL018"
    name = "spread-model-training"
    consequences = (Consequence.CRASH,)

    def check(self, event: SpreadModelTrained) -> Iterator[Violation]:
        launch = event.module.engines().several_shown
        load = event.model.provenance
        if not launch or load is None:
            return
        is_here = load.module is event.module
        yield Violation(
            event=event,
            site=Site(load.module, load.node, event.function) if is_here else None,
            message=(
                f"a model that is spread over all GPUs is passed to {event.receiver} on several processes (see "
                f"`{launch}`): Accelerate raises ValueError, as each process would use all GPUs"
            ),
            provenance=Step(event.module, event.node, f"it is passed to {event.receiver} here") if is_here else load,
            help=(
                "leave `device_map` out, or load a quantized model onto the GPU of its process: "
                '`device_map={"": PartialState().local_process_index}`'
            ),
            cause=id(load.node),
        )
