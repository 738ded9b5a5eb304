"""Contrastive training of a sentence encoder with plain DDP.

torchrun --nproc_per_node 2 bypassed_wrapper_2.py
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class PairDataset(Dataset):
    """Two noisy views of the same bag of tokens."""

    def __init__(self, size=90, length=10, vocab_size=60):
        generator = torch.Generator().manual_seed(12)
        self.left = torch.randint(0, vocab_size, (size, length), generator=generator)
        swap = torch.rand(size, length, generator=generator) < 0.2
        other = torch.randint(0, vocab_size, (size, length), generator=generator)
        self.right = torch.where(swap, other, self.left)

    def __len__(self):
        return len(self.left)

    def __getitem__(self, index):
        return self.left[index], self.right[index]


class Encoder(nn.Module):
    def __init__(self, vocab_size=60, width=32):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, width)
        self.projection = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.1), nn.Linear(width, 16))

    def forward(self, ids):
        return F.normalize(self.projection(self.embedding(ids)), dim=-1)


def setup():
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    if backend == "gloo":
        return torch.device("cpu")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def train_epoch(ddp_model, loader, optimizer, device, temperature):
    encoder = ddp_model.module
    encoder.train()
    loss_sum = torch.zeros((), device=device)
    for left, right in loader:
        left, right = encoder(left.to(device)), encoder(right.to(device))
        similarity = left @ right.T / temperature
        loss = F.cross_entropy(similarity, torch.arange(len(left), device=device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.detach()
    dist.all_reduce(loss_sum)
    return loss_sum.item() / (len(loader) * dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--temperature", type=float, default=0.1)
    args = parser.parse_args()

    device = setup()
    torch.manual_seed(77)
    dataset = PairDataset()
    sampler = DistributedSampler(dataset, seed=77, drop_last=True)
    loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler)
    model = DistributedDataParallel(Encoder().to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, optimizer, device, args.temperature)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.4f}")

    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "encoder.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
