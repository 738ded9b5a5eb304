# Helpers that reduce the tensors of a list or tuple, or write all of a tensor.
import os

import torch
import torch.distributed as dist
import wandb
from torch import nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def reduce_all(tensors):
    works = []
    for tensor in tensors:
        works.append(dist.all_reduce(tensor, async_op=True))
    for work in works:
        work.wait()


def reduce_flat(tensors):
    flat = _flatten_dense_tensors(tensors)
    dist.all_reduce(flat)
    for tensor, part in zip(tensors, _unflatten_dense_tensors(flat, tensors), strict=True):
        tensor.copy_(part)


def reduce_numbered(tensors):
    for number, tensor in enumerate(tensors):
        work = dist.all_reduce(tensor, async_op=True)
        print(number, work)
        work.wait()


def reduce_each(*tensors):
    for tensor in tensors:
        dist.all_reduce(tensor)


def reduce_pair(pair):
    works = [dist.all_reduce(tensor, async_op=True) for tensor in pair]
    for work in works:
        work.wait()


def reduce_one_of(*tensors):
    dist.all_reduce(tensors[0])


def reduce_first(tensors):
    dist.all_reduce(tensors[0])


def write_total(values):
    total = values.clone()
    dist.all_reduce(total)
    values[:] = total


def write_first(values):
    total = values.clone()
    dist.all_reduce(total)
    values[:1] = total[:1]


def count(model, loader):
    right, rows = torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda")
    for x, y in loader:
        right += (model(x.cuda()).argmax(1) == y.cuda()).sum()
        rows += len(y)
    return right, rows


def main(dataset):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    loader = DataLoader(dataset, 16, sampler=DistributedSampler(dataset))
    model = DistributedDataParallel(nn.Linear(8, 3).cuda())
    right, rows = count(model, loader)
    reduce_all([right, rows])
    first, other = count(model, loader)
    reduce_first([other, first])
    second, its_rows = count(model, loader)
    reduce_flat([second, its_rows])
    third, other = count(model, loader)
    reduce_numbered([other, third])
    fourth, of_fourth = count(model, loader)
    reduce_each(fourth, of_fourth)
    fifth, of_fifth = count(model, loader)
    reduce_pair((fifth, of_fifth))
    sixth, of_sixth = count(model, loader)
    reduce_one_of(of_sixth, sixth)
    total = torch.cat(count(model, loader))
    write_total(total)
    part = torch.cat(count(model, loader))
    write_first(part)
    if dist.get_rank() == 0:
        wandb.init()
        wandb.log({"accuracy": (right / rows).item()})
        wandb.log({"right": first.item()})  # expect: TRL003
        wandb.log({"accuracy": (second / its_rows).item()})
        wandb.log({"right": third.item()})
        wandb.log({"accuracy": (fourth / of_fourth).item()})
        wandb.log({"accuracy": (fifth / of_fifth).item()})
        wandb.log({"right": sixth.item()})  # expect: TRL003
        wandb.log({"accuracy": (total[0] / total[1]).item()})
        wandb.log({"accuracy": (part[0] / part[1]).item()})  # expect: TRL003


if __name__ == "__main__":
    main(torch.load("data.pt"))
