# What a rank prints before it fails is the reason; before a regular end it is the result.
import math
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


@torch.no_grad()
def last_loss(model, loader, device):
    model.eval()
    for batch in loader:
        loss = model(batch.to(device)).mean()
    value = loss.item()
    if not math.isfinite(value):
        print(f"Loss is {value}, stopping evaluation")
        sys.exit(1)
    total = torch.tensor([value], device=device)
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


@torch.no_grad()
def evaluate(model, loader, device, only):
    model.eval()
    correct = []
    for batch in loader:
        correct.append(model(batch.to(device)).argmax(-1).eq(0).float().mean().item())
    accuracy = sum(correct) / len(correct)
    if only:
        print(f"accuracy {accuracy}")  # expect: TRL003
        sys.exit(0)
    if math.isnan(accuracy):
        print(f"no accuracy: {accuracy}")
        raise ValueError("it is no number")


def main(rows, model, device, only):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    last_loss(model, loader, device)
    evaluate(model, loader, device, only)
