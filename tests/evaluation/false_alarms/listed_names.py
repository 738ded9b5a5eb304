# The names of a model's losses, listed before they are stacked and reduced, are the same on all ranks, and as many.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def reduced(losses):
    names = sorted(losses)
    stacked = torch.stack([losses[name].detach() for name in names])
    dist.all_reduce(stacked)
    return dict(zip(names, stacked / dist.get_world_size(), strict=True))


def main(net, data, rank):
    dist.init_process_group("nccl")
    net = DDP(net)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        losses = net(batch)
        shown = reduced(losses)
        sum(losses.values()).backward()
        if rank == 0:
            wandb.log({"all": sum(shown.values()).item()})
            wandb.log({"own": sum(losses.values()).item()})  # expect: TRL003
