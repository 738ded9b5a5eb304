# Losses with which a wrapped model is trained, where only draws are known to be in them: each rank has its own.
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from views import colours


def trained(model, optimizer):
    for _ in range(1000):
        rays = torch.rand(1024, 6)
        loss = F.mse_loss(model(rays), colours(rays))
        if torch.isnan(loss):
            continue  # expect: TRL006
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def trained_together(model, optimizer):
    for _ in range(1000):
        rays = torch.rand(1024, 6)
        loss = F.mse_loss(model(rays), colours(rays))
        failed = torch.isnan(loss).float()
        dist.all_reduce(failed)
        if failed > 0:
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def drawn(model):
    rays = torch.rand(1024, 6)
    loss = F.mse_loss(model(rays), colours(rays))  # one seed draws the same on all ranks
    if torch.isnan(loss):
        return
    dist.barrier()


def main():
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(6, 3))
    optimizer = torch.optim.Adam(model.parameters())
    trained(model, optimizer)
    trained_together(model, optimizer)
    drawn(model.module)
