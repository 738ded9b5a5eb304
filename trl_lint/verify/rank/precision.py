"""bfloat16 where there is no GPU: torch computes in it on the CPU as well, and is let do so.

From 5.0 on `TrainingArguments` refuses `bf16=True` on a machine without a GPU, unless `use_cpu` is set as well. That is
a word about speed, and nothing that several processes do wrong: what follows runs the same code as on a GPU.

Source: transformers/training_args.py `TrainingArguments._validate_args` (5.5.0, 5.23.0); up to 4.51.3 only a GPU that
can't compute in bfloat16 was refused. accelerate/utils/imports.py `is_bf16_available`.
"""

from __future__ import annotations

from types import ModuleType

CHECK = "is_torch_bf16_gpu_available"


def patch_arguments(module: ModuleType) -> None:
    """Have a machine without a GPU pass for one that computes in bfloat16."""
    import torch

    asked = getattr(module, CHECK, None)
    if asked is not None:
        setattr(module, CHECK, lambda: asked() or not torch.cuda.is_available())
