"""Accelerate's own name for a single process."""

from accelerate import Accelerator, DistributedType
from accelerate.utils import DistributedType as Type

accelerator = Accelerator()
if accelerator.distributed_type == DistributedType.NO:
    reveal_rank(1.0)  # revealed: never
if accelerator.distributed_type != Type.NO:
    reveal_rank(2.0)  # revealed: same
else:
    reveal_rank(3.0)  # revealed: never
if accelerator.distributed_type in (Type.NO,):
    reveal_rank(4.0)  # revealed: never
