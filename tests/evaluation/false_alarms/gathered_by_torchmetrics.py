# torchmetrics' own gather waits for all ranks, and gives them all the same list.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torchmetrics.utilities.distributed import gather_all_tensors

dist.init_process_group("nccl")


def evaluate(model, rows):
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss = model(batch).mean()
        total = torch.stack(gather_all_tensors(loss)).sum()
        if total > 9:
            continue
        dist.barrier()


def skip(model, rows):
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss = model(batch).mean()
        if loss > 9:
            continue  # expect: TRL006
        print(torch.stack(gather_all_tensors(loss)).sum())


def of_first(value):
    if dist.get_rank() == 0:
        gather_all_tensors(value)  # expect: TRL006
