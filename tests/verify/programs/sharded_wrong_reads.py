"""Each rank uses the number of its own shard as that of the whole parameter or gradient, in several ways."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.distributed.fsdp import fully_shard

accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 1))
for module in (*model, model):
    fully_shard(module)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(2):
    model(torch.ones(2, 6) * (step + dist.get_rank())).pow(2).sum().backward()
    weight = model[0].weight
    norm = weight.norm().item()  # part: norm
    of_gradient = float(weight.grad.norm())  # part: gradient
    total = sum(each.pow(2).sum() for each in model.parameters()).item()  # part: sum
    largest = weight.max().item()  # part: max
    if dist.get_rank() == 0:
        alone = torch.linalg.vector_norm(weight).item()  # part: alone
    accelerator.log({"logged": weight.sum()}, step=step)  # part: logged
    accelerator.log({"copied": weight.to_local().mean().item()}, step=step)  # part: copied
    parts = [each.to_local().norm() for each in model.parameters()]  # part: copies
    accelerator.log({"copies": torch.stack(parts).norm().item()}, step=step)
    optimizer.step()
    optimizer.zero_grad()
