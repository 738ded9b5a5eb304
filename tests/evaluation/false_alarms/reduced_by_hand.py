# The forward bypasses DDP on purpose: the gradients are averaged by hand, parameter by parameter.
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def reduced(model, batch):
    ddp = DistributedDataParallel(model)
    ddp.module(batch).sum().backward()
    total = {}
    for name, parameter in ddp.named_parameters():
        total[name] = parameter.grad.float()
        dist.all_reduce(total[name], op=dist.ReduceOp.AVG)
    return total


def left_alone(model, batch):
    ddp = DistributedDataParallel(model)
    ddp.module(batch).sum().backward()  # expect: TRL009
    return {name: parameter.grad.float() for name, parameter in ddp.named_parameters()}
