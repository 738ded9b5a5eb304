"""bfloat16 without a GPU: torch supports it on the CPU as well, so it is allowed.

From 5.0 on `TrainingArguments` refuses `bf16=True` on a machine without a GPU, unless `use_cpu` is set as well. That is
about speed, and not a mistake of several processes: the code that follows is the same as on a GPU.

Source: transformers/training_args.py `TrainingArguments._validate_args` (5.5.0, 5.24.0); up to 4.51.3 only a GPU that
can't compute in bfloat16 was refused. accelerate/utils/imports.py `is_bf16_available`.
"""

from __future__ import annotations

from types import ModuleType

CHECK = "is_torch_bf16_gpu_available"


def patch_arguments(module: ModuleType) -> None:
    """Make a machine without a GPU appear as one that supports bfloat16."""
    import torch

    original = getattr(module, CHECK, None)
    if original is not None:
        setattr(module, CHECK, lambda: original() or not torch.cuda.is_available())
