# A tensor computed from full batches has the same number of rows on all ranks; with rows selected by a mask it has not.
import torch
import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler


def train(model, dataset, args):
    loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset), drop_last=True)
    for features, labels in loader:
        features = torch.repeat_interleave(features, args.several, dim=0)
        columns = {"features": torch.cat([features, features], dim=0), "labels": labels.repeat(2 * args.several)}
        columns = {name: column.unsqueeze(1) for name, column in columns.items()}
        total = 0.0
        for row in [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]:
            loss = model(row["features"], row["labels"]).mean()
            loss.backward()
            loss = loss.detach()
            dist.all_reduce(loss, op=dist.ReduceOp.AVG)
            total += loss.item()
        if dist.get_rank() == 0:
            wandb.log({"loss": total})


def score(model, dataset):
    loader = DataLoader(dataset, batch_size=16, sampler=DistributedSampler(dataset), drop_last=True)
    for features, labels in loader:
        total = 0.0
        for row in torch.masked_select(features, labels > 0):
            loss = model(row)
            dist.all_reduce(loss)  # expect: TRL006
        for row in torch.repeat_interleave(features, 2, dim=0):
            total += row.abs().sum().item()
        if dist.get_rank() == 0:
            wandb.log({"score": total})  # expect: TRL003
