"""Several processes on the CPU: newer releases of accelerate form no group of them unless they are told to.

Without a GPU, accelerate 1.6 uses gloo for the processes of a launcher by itself. 1.15 does so only if the script asks
for the CPU (`use_cpu=True`, `Accelerator(cpu=True)`); otherwise each process trains alone, as if it were the only one,
and a run would show nothing. A script for GPUs asks for no CPU, so it is asked for here.

It may also ask for nccl by name (`TrainingArguments(ddp_backend="nccl")`), which accelerate refuses without a GPU,
before a group is started. So accelerate is asked for the backend that it would pick itself.

Source: accelerate/state.py `PartialState.__init__`, `PartialState._prepare_backend` (1.6.0, 1.15.0).
"""

from __future__ import annotations

import os
from types import ModuleType

from . import wrapping
from .wrapping import Function


def patch_state(module: ModuleType) -> None:
    """Make accelerate form a group of the launcher's processes, if it would form none or has no GPU for nccl."""
    alone = module.DistributedType.NO

    def make(original: Function) -> Function:
        def prepared(self: object, cpu: bool = False, *args: object, **kwargs: object) -> object:
            found = original(self, cpu, *args, **kwargs)
            is_launched = int(os.environ.get("WORLD_SIZE", "1")) > 1
            if is_launched and not cpu and isinstance(found, tuple) and found[-1] == alone:
                return original(self, True, *args, **kwargs)
            return found

        return prepared

    def make_picking(original: Function) -> Function:
        def constructed(self: object, *args: object, **kwargs: object) -> None:
            if "nccl" in str(kwargs.get("backend")) and not module.torch.cuda.is_available():
                kwargs["backend"] = None
            original(self, *args, **kwargs)

        return constructed

    wrapping.replace(module.PartialState, "_prepare_backend", make)
    wrapping.replace(module.PartialState, "__init__", make_picking)
