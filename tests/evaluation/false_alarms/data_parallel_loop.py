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


def largest_batch(settings):
    torch.distributed.init_process_group("nccl")
    model = torch.nn.DataParallel(torch.nn.Linear(4, 4)).to(settings.device)
    size = 2
    while True:
        try:
            model(torch.rand(size, 4, device=settings.device)).sum().backward()
            size *= 2
        except RuntimeError:
            return size // 2


def largest_batch_of_all(settings):
    torch.distributed.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(4, 4).to(settings.device))
    size = 2
    while True:
        try:
            model(torch.rand(size, 4, device=settings.device)).sum().backward()
            size *= 2
        except RuntimeError:
            return size // 2  # expect: TRL006


def shown_by_one_process(model, rows):
    model = torch.nn.DataParallel(model)
    if torch.distributed.get_rank() == 0:
        print(model(rows), model.config)  # expect: TRL002


def chosen(args, model, rows):
    model = DistributedDataParallel(model) if args.distributed else torch.nn.DataParallel(model)
    if torch.distributed.get_rank() == 0:
        print(model(rows))  # expect: TRL006
