"""One batch fewer: the rows are shared out by hand, and there is an odd number of batches."""

import torch
import torch.distributed as dist

dist.init_process_group()
torch.manual_seed(0)
rank, world = dist.get_rank(), dist.get_world_size()
weight = torch.zeros(4, requires_grad=True)
batches = torch.randn(7, 2, 4).unbind()
for batch in batches[rank::world]:  # cause
    loss = (batch @ weight - 1).square().mean()
    loss.backward()
    dist.all_reduce(weight.grad)  # waits: 0
    with torch.no_grad():
        weight -= 0.1 * weight.grad / world
    weight.grad = None
dist.barrier()  # waits: 1
dist.destroy_process_group()
