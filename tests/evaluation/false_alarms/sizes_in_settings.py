# A setting for the number of processes is 1 until the launcher's is known: what is reduced for more is reduced.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel


class Config:
    def __init__(self, values):
        self.world_size = 1
        self.copies = 1
        for key, value in values.items():
            setattr(self, key, value)


def average(config, value):
    if config.world_size > 1:
        total = torch.tensor([value], device="cuda")
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        return total.item()
    return value


def average_of_copies(config, value):
    if config.copies > 1:
        total = torch.tensor([value], device="cuda")
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        return total.item()
    return value


def main(values, model, loader):
    config = Config(values)
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    for x, _ in loader:
        loss = model(x).mean()
        loss.backward()
        mean, other = average(config, loss.item()), average_of_copies(config, loss.item())
        if dist.get_rank() == 0:
            wandb.log({"loss": mean})
            wandb.log({"other": other})  # expect: TRL003
