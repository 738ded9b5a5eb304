# Only the dataloader of the training rows has a sampler: each rank evaluates all other rows.
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def make_loader(rows, split, distributed):
    sampler = None
    if distributed and split == "train":
        sampler = DistributedSampler(rows)
    return DataLoader(rows, batch_size=8, sampler=sampler)


def make_loaders(rows, splits, distributed):
    loaders = {}
    for split in splits:
        loaders[split] = make_loader(rows[split], split, distributed)
    return loaders


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total = 0.0
    for batch in loader:
        total += model(batch["x"]).mean().item()
    return {"loss": total / len(loader)}


def train(rows, splits, model, rank):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loaders = make_loaders(rows, splits, dist.is_initialized())
    for batch in loaders["train"]:
        model(batch["x"]).mean().backward()
        optimizer.step()
    found = evaluate(model, loaders["dev"])
    if rank == 0:
        print(f"Val loss: {found['loss']:.3f}")


def train_on_all(rows, model, rank):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = make_loader(rows, "train", dist.is_initialized())
    for batch in loader:
        model(batch["x"]).mean().backward()
        optimizer.step()
    found = evaluate(model, loader)
    if rank == 0:
        print(f"Val loss: {found['loss']:.3f}")  # expect: TRL003


if __name__ == "__main__":
    rank = dist.get_rank()
    train({}, sys.argv[1:], torch.nn.Linear(2, 2), rank)
    train_on_all([], torch.nn.Linear(2, 2), rank)
