# What is gathered into a list with one element per rank: the list is never empty, so `else` is never chosen.
import numpy as np
import torch
import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler


def gathered(rows):
    parts = [None for _ in range(dist.get_world_size())]
    dist.all_gather_object(parts, rows)
    return np.concatenate(parts, axis=0) if len(parts) > 0 else rows


def gathered_tensors(rows):
    parts = [torch.zeros_like(rows)] * dist.get_world_size()
    dist.all_gather(parts, rows)
    if not parts:
        return rows
    return torch.cat(parts)


def main(model, data):
    dist.init_process_group("nccl")
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
    scores = []
    for rows in loader:
        scores.append(model(rows).detach().cpu().numpy())
    own = np.concatenate(scores, axis=0)
    everywhere = gathered(own)
    tensors = gathered_tensors(torch.as_tensor(own))
    if dist.get_rank() == 0:
        wandb.log({"error": float(np.mean(everywhere))})
        wandb.log({"tensors": tensors.mean().item()})
        wandb.log({"own": float(np.mean(own))})  # expect: TRL003
