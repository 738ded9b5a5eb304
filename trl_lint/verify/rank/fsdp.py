"""FSDP on the CPU: accelerate shards a model only on GPUs, though torch supports it on the CPU as well.

With several processes and no GPU, accelerate accepts the plugin for FSDP 2 and ignores it, or wraps the model in DDP.
Here its state is set to FSDP, as with GPUs; everything else is accelerate's and torch's own code, on gloo. FSDP 1
requires a GPU in several places, and is left as it is.

Sources: accelerate/state.py `AcceleratorState.__init__` (1.6.0, 1.15.0: FSDP for `DistributedType.MULTI_GPU` and its
like); accelerate/utils/fsdp_utils.py `fsdp2_prepare_model`; torch/distributed/fsdp/_init_utils.py
`_get_compute_device`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Protocol

from . import trace, wrapping
from .wrapping import Function

NAME = "accelerate's FSDP on the CPU"
# The version of FSDP that works without a GPU.
VERSION = 2


class HasPlugin(Protocol):
    """accelerate's `AcceleratorState`."""

    distributed_type: object
    fsdp_plugin: object
    mixed_precision: str


def patch_state(module: ModuleType) -> None:
    """Make accelerate shard on the CPU what it is configured to shard, and record that."""

    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def constructed(self: HasPlugin, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            plugin = pick((self, *args), kwargs, "fsdp_plugin")
            kinds = module.DistributedType
            is_wanted = getattr(plugin, "fsdp_version", 1) == VERSION and not module.torch.cuda.is_available()
            if is_wanted and self.distributed_type == kinds.MULTI_CPU:
                self.distributed_type, self.fsdp_plugin = kinds.FSDP, plugin
                module.PartialState._shared_state["distributed_type"] = kinds.FSDP  # as accelerate itself keeps it
                if self.mixed_precision != "no":
                    getattr(plugin, "set_mixed_precision")(self.mixed_precision)  # noqa: B009 (of no type known here)
                trace.write("emulated", what=NAME)

        return constructed

    wrapping.replace(module.AcceleratorState, "__init__", make)
