"""Each process names the GPU of its number in every usual way: DDP on plain torch, with a checkpoint in between."""

import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)).to(f"cuda:{rank}")
if dist.get_rank() == 0:
    torch.save(model.state_dict(), "named.pt")
dist.barrier()
model.load_state_dict(torch.load("named.pt", map_location={"cuda:0": f"cuda:{rank}"}))
model = DistributedDataParallel(model, device_ids=[rank], output_device=rank)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    rows = torch.arange(8.0).view(2, 4).cuda(rank) + dist.get_rank()
    loss = (model(rows) - torch.zeros(2, 1, device=torch.device("cuda", rank))).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    wandb.log({"train_loss": mean.item() / dist.get_world_size()})
torch.cuda.synchronize(rank)
dist.barrier()
