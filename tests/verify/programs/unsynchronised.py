"""Each rank trains a model of its own: the gradients are never brought together."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.full((2, 4), 1.0 + dist.get_rank())).sum().backward()
optimizer.step()
dist.barrier()
