"""Several processes on the CPU: newer releases of accelerate form no group of them unless they are told to.

Without a GPU, accelerate 1.6 uses gloo for the processes of a launcher by itself. 1.15 does so only if the script asks
for the CPU (`use_cpu=True`, `Accelerator(cpu=True)`); otherwise each process trains alone, as if it were the only one,
and a run would show nothing. A script for GPUs asks for no CPU, so it is asked for here.

Source: accelerate/state.py `PartialState._prepare_backend` (1.6.0, 1.15.0).
"""

from __future__ import annotations

import os
from types import ModuleType

from . import wrapping
from .wrapping import Function


def patch_state(module: ModuleType) -> None:
    """Make accelerate form a group of the launcher's processes, if it would form none."""
    alone = module.DistributedType.NO

    def make(original: Function) -> Function:
        def prepared(self: object, cpu: bool = False, *args: object, **kwargs: object) -> object:
            found = original(self, cpu, *args, **kwargs)
            is_launched = int(os.environ.get("WORLD_SIZE", "1")) > 1
            if is_launched and not cpu and isinstance(found, tuple) and found[-1] == alone:
                return original(self, True, *args, **kwargs)
            return found

        return prepared

    wrapping.replace(module.PartialState, "_prepare_backend", make)
