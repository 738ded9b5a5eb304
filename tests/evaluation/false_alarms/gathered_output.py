# A part of the model's output is computed from what all ranks have gathered: it is the same number on all of them.
import torch
import torch.distributed as dist
import torch.nn.functional as F
import wandb
from accelerate import Accelerator
from torch import nn


def all_rows(rows):
    parts = [torch.zeros_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, rows.contiguous())
    parts[dist.get_rank()] = rows
    return torch.cat(parts)


def contrast(first, second):
    scores = all_rows(first) @ all_rows(second).T
    return F.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


class Twins(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, rows, labels):
        pull = None
        first, second = self.body(rows), self.body(rows)
        if self.training:
            pull = contrast(first, second)
        fit = F.cross_entropy(first, labels)
        return {"pull": pull, "fit": fit, "sum": fit + contrast(first, second)}


def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        outputs = model(batch["rows"], batch["labels"])
        accelerator.backward(outputs["sum"])
        optimizer.step()
        optimizer.zero_grad()
        if accelerator.is_main_process:
            wandb.log({"pull": outputs["pull"].item()})
            wandb.log({"fit": outputs["fit"].item()})  # expect: TRL003
            wandb.log({"sum": outputs["sum"].item()})  # expect: TRL003
