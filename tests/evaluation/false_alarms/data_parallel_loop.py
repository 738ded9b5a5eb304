# One process trains a model in DataParallel: its loss is that of all GPUs.
import torch
import wandb
from torch.nn.parallel import DistributedDataParallel


def train_in_one_process(model, loader, optimizer):
    model = torch.nn.DataParallel(model)
    total = 0
    for batch in loader:
        loss = model(**batch).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    wandb.log({"loss": total / len(loader)})


def train_in_several(model, loader, optimizer, rank):
    model = DistributedDataParallel(model)
    total = 0
    for batch in loader:
        loss = model(**batch).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if torch.distributed.get_rank() == 0:
        wandb.log({"loss": total / len(loader)})  # expect: TRL003
