"""nccl, so that a hang shows as much as with gloo: in which collective a rank waits, and what it has run before.

A call with nccl returns once its work is queued on the GPU, so it would seem complete while the rank waits forever.
Here it ends when the GPU has done it. TORCH_NCCL_BLOCKING_WAIT is no alternative: since torch 2.8 a collective without
`async_op` returns no work to wait for. Calls with `async_op` are not waited for, as the script means to continue.
Neither does a backward pass wait for each of DDP's reductions; it ends when they are done.

After the timeout, nccl's watchdog aborts the process, and no Python code runs any more. It is configured to write the
flight recorder's content next to the traces, where `torchfrtrace DIR --prefix rank_dump_` reads it.

Sources: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp `collective` (2.8: `return asyncOp ? work : nullptr`),
ProcessGroupNCCL.hpp (the names of the variables); torch/csrc/distributed/c10d/FlightRecorder.cpp `getWriter`.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from . import wrapping
from .job import Job
from .wrapping import Function

DUMP = "rank_dump_"
# The newer name of the variable for the recorder's size came with the function that dumps any recorder's content.
_BUFFER, _OLDER_BUFFER, _SIZE = "TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"
_FILES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")


def prepare(job: Job, backend: str | None) -> None:
    """Set the variables that torch reads when a group is created; those set by the user stay."""
    if backend == "gloo":
        return
    native = getattr(getattr(sys.modules.get("torch"), "_C", None), "_distributed_c10d", None)
    buffer = _BUFFER if hasattr(native, "_dump_fr_trace") else _OLDER_BUFFER
    wanted = {buffer: _SIZE, "TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}
    wanted.update(dict.fromkeys(_FILES, os.path.join(job.traces, DUMP)))
    for name, value in wanted.items():
        os.environ.setdefault(name, value)


def finish(c10d: ModuleType, group: object, result: object) -> None:
    """Wait until the GPU has done a collective that was just called, if that is necessary."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized() or hasattr(result, "wait") or c10d.get_backend(group) == "gloo":
        return
    if not cuda.is_current_stream_capturing():  # nothing runs while a CUDA graph is captured
        cuda.current_stream().synchronize()


def patch_tensor(module: ModuleType) -> None:
    """Make `torch.Tensor.backward` end when the GPU has done the reductions that DDP started in it."""

    def make(original: Function) -> Function:
        def backward(*args: object, **kwargs: object) -> object:
            result = original(*args, **kwargs)
            c10d = sys.modules.get("torch.distributed.distributed_c10d")
            if c10d is not None and c10d.is_initialized():
                finish(c10d, None, None)
            return result

        return backward

    wrapping.replace(module.Tensor, "backward", make)
