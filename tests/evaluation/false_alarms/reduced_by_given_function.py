# A function that is given to reduce the sums is not None.
import os

import torch
import torch.distributed as dist
import wandb
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def all_sum(values):
    values = values.clone()
    dist.all_reduce(values)
    return values


class Ranks:
    def total(self, values):
        return all_sum(values)


def evaluate(model, loader, reduce=None):
    sums = torch.zeros(2, device="cuda")
    for x, y in loader:
        sums += torch.tensor([(model(x.cuda()).argmax(1).cpu() == y).sum(), len(y)], device="cuda")
    if reduce is not None:
        sums = reduce(sums)
    return (sums[0] / sums[1]).item()


def evaluate_if(model, loader, reduce=None):
    sums = torch.zeros(2, device="cuda")
    for x, y in loader:
        sums += torch.tensor([(model(x.cuda()).argmax(1).cpu() == y).sum(), len(y)], device="cuda")
    if reduce:
        sums = reduce(sums)
    return (sums[0] / sums[1]).item()


def main(dataset):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(dataset, 16, sampler=DistributedSampler(dataset))
    model = DistributedDataParallel(nn.Linear(8, 3).cuda())
    first = evaluate(model, loader, reduce=all_sum)
    second = evaluate_if(model, loader, lambda values: all_sum(values))
    third = evaluate(model, loader, Ranks().total)
    fourth = evaluate(model, loader)
    if dist.get_rank() == 0:
        wandb.init()
        wandb.log({"first": first, "second": second, "third": third})
        wandb.log({"fourth": fourth})  # expect: TRL003


if __name__ == "__main__":
    main(torch.load("data.pt"))
