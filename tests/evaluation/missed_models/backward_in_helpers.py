# Backward passes in helpers that are passed the loss: other ranks wait in them for those that leave before.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Scaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler()

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()


def step(loss, optimizer):
    if loss.item() > 100:
        print("a large loss")
    loss.backward()
    optimizer.step()


def step_twice(loss, optimizer):
    step(loss, optimizer)


def loader_of(rows):
    return DataLoader(rows, sampler=DistributedSampler(rows))


def train(rows):
    dist.init_process_group("nccl")
    model, scaler = DDP(torch.nn.Linear(2, 2)), Scaler()
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader_of(rows):
        loss = torch.nn.functional.mse_loss(model(x), y)
        if torch.isnan(loss):
            continue  # expect: TRL006
        scaler(loss, optimizer)
    for x, y in loader_of(rows):
        loss = torch.nn.functional.mse_loss(model(x), y)
        if loss.item() > 3:
            continue  # expect: TRL006
        step_twice(loss, optimizer)


def train_own(rows):
    dist.init_process_group("nccl")
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader_of(rows):
        loss = torch.nn.functional.mse_loss(model(x), y)
        if torch.isnan(loss):
            continue
        step(loss, optimizer)


def train_with_timm(rows):
    from timm.utils import NativeScaler

    dist.init_process_group("nccl")
    model, scaler = DDP(torch.nn.Linear(2, 2)), NativeScaler()
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader_of(rows):
        loss = torch.nn.functional.mse_loss(model(x), y)
        if torch.isnan(loss):
            continue  # expect: TRL006
        scaler(loss, optimizer, parameters=model.parameters())
