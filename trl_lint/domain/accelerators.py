"""Accelerators that are told to wrap models otherwise than in DDP.

Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())    its wrapper hands on the attributes of the model
"""

from __future__ import annotations

from trl_lint.domain.kinds import LibraryInstance


class ShardingAccelerator(LibraryInstance):
    """An Accelerator that wraps models in FSDP."""

    __slots__ = ()
