"""A small autoencoder trained with plain DistributedDataParallel.

torchrun --nproc_per_node=2 divergent_collective_2.py
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(size, dim):
    generator = torch.Generator().manual_seed(0)
    basis = torch.randn(4, dim, generator=generator)
    return TensorDataset(torch.randn(size, 4, generator=generator) @ basis)


class AutoEncoder(nn.Module):
    def __init__(self, dim, bottleneck, dropout):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Dropout(dropout), nn.Linear(32, bottleneck))
        self.decoder = nn.Sequential(nn.Linear(bottleneck, 32), nn.GELU(), nn.Linear(32, dim))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--checkpoint_dir", default="autoencoder")
    args = parser.parse_args()

    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank = dist.get_rank()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(1234)

    dataset = make_data(150, args.dim)
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler)
    model = DDP(AutoEncoder(args.dim, 4, args.dropout).to(device), device_ids=[local_rank] if use_cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    os.makedirs(args.checkpoint_dir, exist_ok=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        start = time.perf_counter()
        total = torch.zeros(2, device=device)
        for (x,) in loader:
            x = x.to(device)
            loss = nn.functional.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item() * len(x), len(x)], device=device)

        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch}: loss {total[0] / total[1]:.4f}, {time.perf_counter() - start:.2f} s")
            path = os.path.join(args.checkpoint_dir, f"epoch_{epoch}.pt")
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, path)
            # Nobody goes on before the checkpoint is complete
            dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
