"""Accelerators that are configured to wrap models in something other than DDP.

For example:

    Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())    its wrapper passes the model's attributes on
"""

from __future__ import annotations

from trl_lint.domain.kinds import LibraryInstance


class ShardingAccelerator(LibraryInstance):
    """An Accelerator that wraps models in FSDP."""

    __slots__ = ()
