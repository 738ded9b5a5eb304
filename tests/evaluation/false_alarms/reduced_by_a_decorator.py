# A decorator of the project may reduce what the function returns.
import functools
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def averaged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        out = function(*args, **kwargs)
        keys = sorted(out)
        values = torch.tensor([out[key] for key in keys], device="cuda")
        dist.all_reduce(values)
        return dict(zip(keys, (values / dist.get_world_size()).tolist(), strict=True))

    return inner


def mean_of_ranks(out):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, out)
    return {key: sum(part[key] for part in parts) / len(parts) for key in out}


def merged(function):
    def inner(*args):
        return mean_of_ranks(function(*args))

    return inner


def timed(function):
    def inner(*args):
        start = time.time()
        out = function(*args)
        dist.barrier()
        print("took", time.time() - start)
        return out

    return inner


def share_right(model, loader):
    right = rows = 0
    for x, y in loader:
        right += (model(x.cuda()).argmax(1).cpu() == y).sum().item()
        rows += len(y)
    return {"accuracy": right / rows}


@averaged
@torch.no_grad()
def evaluate(model, loader):
    return share_right(model, loader)


@merged
def evaluate_again(model, loader):
    return share_right(model, loader)


@timed
def evaluate_alone(model, loader):
    return share_right(model, loader)


def main(dataset):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if dist.get_rank() == 0:
        wandb.init()
    loader = DataLoader(dataset, 16, sampler=DistributedSampler(dataset))
    model = DistributedDataParallel(nn.Linear(8, 3).cuda())
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    first = evaluate(model, loader)
    second = evaluate_again(model, loader)
    third = evaluate_alone(model, loader)
    if dist.get_rank() == 0:
        wandb.log({"first": first["accuracy"]})
        wandb.log({"second": second["accuracy"]})
        wandb.log({"third": third["accuracy"]})  # expect: TRL003


if __name__ == "__main__":
    main(torch.load("data.pt"))
