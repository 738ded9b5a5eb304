"""One rank waits for a collective that it began with async_op, and that the other one never calls."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
loss = torch.ones(1)
if dist.get_rank() == 0:  # parts
    work = dist.all_reduce(loss, async_op=True)
    work.wait()
dist.barrier()
