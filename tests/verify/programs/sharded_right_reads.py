"""Reads of sharded parameters and gradients that equal those of the whole ones, or that the script combines."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 1))  # rank 1 has no part of one of the biases
for module in (*model, model):
    fully_shard(module)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(2):
    model(torch.ones(2, 6) * (step + dist.get_rank())).pow(2).sum().backward()
    weight = model[0].weight
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9).full_tensor().item()
    squares = sum(each.to_local().pow(2).sum() for each in model.parameters())
    dist.all_reduce(squares)
    largest = weight.to_local().abs().max()
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    of_shards = [each.to_local().norm().item() for each in model.parameters()]  # not used by any code
    accelerator.log(
        {
            "grad_norm": norm,
            "norm": squares.sqrt().item(),
            "again": sum(each.pow(2).sum() for each in model.parameters()).sqrt().item(),
            "largest": largest.item(),
            "mean": weight.mean().item(),
            "whole": weight.full_tensor().norm().item(),
            "gathered": get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))["0.weight"].norm(),
            "one": weight[0, 0].item(),
            "bad": float(bool(torch.isnan(weight).any())),
            "elements": weight.numel() * weight.shape[0],
        },
        step=step,
    )
    optimizer.step()
    optimizer.zero_grad()
