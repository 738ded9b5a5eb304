"""What a run has seen of the machine: how many GPUs there are, whether accelerate places tensors, who asks for GPUs.

With fewer GPUs than processes, devices can be emulated for a script that leaves them to accelerate (`placement.py`),
but not for one that checks for GPUs itself: on this machine it takes another branch.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cache
from types import ModuleType

from . import trace, wrapping
from .imports import Patch
from .job import Job
from .wrapping import Function

_ASKS = ("is_available", "device_count")


def patch_cuda(job: Job) -> Patch:
    """Make `torch.cuda` record that the user's own code asks for GPUs."""

    @cache
    def record_request() -> None:
        trace.write("asks_for_gpus")

    def make(original: Function) -> Function:
        def recording() -> object:
            if sys._getframe(1).f_code.co_filename in job.user_files:
                record_request()
            return original()

        return recording

    def patch(module: ModuleType) -> None:
        for name in _ASKS:
            wrapping.replace(module, name, make)

    return patch


def record() -> None:
    """Record the machine, after the script has ended."""
    torch = sys.modules.get("torch")
    state = getattr(sys.modules.get("accelerate.state"), "PartialState", None)
    with contextlib.suppress(Exception):
        gpus = torch.cuda.device_count() if torch is not None else 0
        shared = getattr(state, "_shared_state", {})
        # A script that requests the CPU (`use_cpu`, `Accelerator(cpu=True)`) has no device of its own anywhere.
        trace.write("machine", gpus=gpus, is_placed=bool(shared) and not shared.get("_cpu"))
