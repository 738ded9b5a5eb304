"""A right program on GPUs: DDP, a gathered metric, and each process on the GPU that it picks. BACKEND: its group's."""

import os
import sys

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group(sys.argv[1])
device = torch.device("cuda", torch.cuda.current_device())
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 1).to(device), device_ids=[device.index])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.full((2, 4), 1.0 + dist.get_rank() + step, device=device)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    wandb.log({"train_loss": mean.item() / dist.get_world_size()})
dist.barrier()
