# Rows, each with its numbers, are gathered into the same name where there are several processes.
import os

import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler


def evaluate(model, dataset):
    several = "LOCAL_RANK" in os.environ
    rows = []
    for batch in DataLoader(dataset, sampler=DistributedSampler(dataset) if several else None):
        rows.append({"score": model(batch).mean().item()})
    own = rows
    if several:
        parts = [None for _ in range(dist.get_world_size())]
        dist.all_gather_object(parts, rows)
        rows = [row for part in parts for row in part]
    if not several or dist.get_rank() == 0:
        scores = [row["score"] for row in rows]
        wandb.log({"score": sum(scores) / len(scores)})
        own_scores = [row["score"] for row in own]
        wandb.log({"own": sum(own_scores) / len(own_scores)})  # expect: TRL003
