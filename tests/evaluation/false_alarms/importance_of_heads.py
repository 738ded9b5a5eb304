# The same order in each round is no harm where gradients only say which heads matter, and nothing is trained.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def importance(model, loader):
    mask = torch.ones(model.layers, model.heads, requires_grad=True)
    found = torch.zeros(model.layers, model.heads)
    for batch in loader:
        model(**batch, head_mask=mask).loss.backward()
        found += mask.grad.abs()
    return found


def prune(model, rows, limit):
    loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows))
    while model.pruned < limit:
        model.prune(importance(model, loader))


if __name__ == "__main__":
    dist.init_process_group("nccl")
    prune(torch.load("model.pt"), [], 12)
