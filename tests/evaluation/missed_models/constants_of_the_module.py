# A test of the rank that is a constant of the module, beside a condition of which nothing is known.
import os

import torch.distributed as dist

_RANK = int(os.environ.get("RANK", 0))
_GROUP = int(os.environ.get("GROUP", 0))
_IS_MAIN = _RANK == 0
_IS_FIRST = _GROUP == 0


def train(model, loader, optimizer, weights, every, plan):
    dist.init_process_group("nccl")
    step = 0
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
        step += 1
        if step % every == 0 and _IS_MAIN:
            dist.broadcast(weights, src=0)  # expect: TRL006
        if step % every == 0 and _IS_FIRST:
            dist.broadcast(weights, src=0)
        if plan is not None and _IS_MAIN:
            dist.broadcast(plan, src=0)  # expect: TRL006
