# The neighbour of `importance_of_heads.py`: a model is trained in the same order in each epoch.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def train(model, optimizer, loader):
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def main(model, rows, epochs):
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows))
    for _ in range(epochs):  # expect: TRL019
        train(model, optimizer, loader)


if __name__ == "__main__":
    dist.init_process_group("nccl")
    main(torch.load("model.pt"), [], 12)
