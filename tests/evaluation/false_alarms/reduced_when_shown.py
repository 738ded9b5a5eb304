# A loss that is reduced in the steps in which it is shown: both ask whether this is such a step.
import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def train(config, net, rows):
    several = "LOCAL_RANK" in os.environ
    first = True
    if several:
        dist.init_process_group("nccl")
        first = dist.get_rank() == 0
        net = DistributedDataParallel(net)
    total = 0.0
    loader = DataLoader(rows, sampler=DistributedSampler(rows) if several else None)
    for step, batch in enumerate(loader):
        shows = (step + 1) % config.steps == 0
        loss = net(batch).mean()
        loss.backward()
        total += loss.detach()
        if shows:
            net.zero_grad()
            if several:
                dist.all_reduce(total)
                total /= dist.get_world_size()
        if config.log and first and shows:
            wandb.log({"loss": total, "perplexity": torch.exp(total).item()}, step=step)
        if shows:
            total = 0.0


def evaluate(net, rows, epoch):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(net)
    total, other, third = (torch.zeros((), device="cuda") for _ in range(3))
    with torch.no_grad():
        for x, y in DataLoader(rows, sampler=DistributedSampler(rows)):
            total += (net(x) - y).abs().mean()
            other += (net(x) - y).square().mean()
            third += net(x).mean()
    if epoch % 10 == 0:
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        dist.all_reduce(other, op=dist.ReduceOp.AVG)
        dist.all_reduce(third, op=dist.ReduceOp.AVG)
    if dist.get_rank() == 0:
        if epoch % 10 == 0:
            wandb.log({"total": total.item()})
        wandb.log({"other": other.item()})  # expect: TRL003
    epoch += 1
    if epoch % 10 == 0 and dist.get_rank() == 0:
        wandb.log({"third": third.item()})  # expect: TRL003
