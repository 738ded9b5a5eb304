"""Language model with plain DDP. The loss is a mean over tokens; what is printed is reduced by sum and count.

torchrun --nproc_per_node 2 right_2.py
"""

import argparse
import os
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, DistributedSampler


def make_rows(count, vocab_size):
    rng = random.Random(1)
    rows = []
    for _ in range(count):
        a, b = rng.randrange(1, vocab_size), rng.randrange(1, vocab_size)
        rows.append(torch.tensor([a if i % 2 else b for i in range(rng.randint(4, 25))]))
    return rows


def collate(rows):
    return pad_sequence(rows, batch_first=True)


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, width=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, width, padding_idx=0)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(width, vocab_size)

    def forward(self, ids):
        return self.head(self.dropout(self.lstm(self.embedding(ids))[0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--vocab_size", type=int, default=20)
    parser.add_argument("--checkpoint", default="language_model.pt")
    args = parser.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group(backend="nccl" if cuda else "gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if cuda else "cpu")
    if cuda:
        torch.cuda.set_device(device)

    # Dropout should not be the same everywhere; DDP makes the weights equal
    torch.manual_seed(100 + rank)
    random.seed(100 + rank)

    rows = make_rows(76, args.vocab_size)
    sampler = DistributedSampler(rows, num_replicas=world_size, rank=rank, shuffle=True, seed=0)
    loader = DataLoader(rows, batch_size=args.batch_size, sampler=sampler, collate_fn=collate)
    model = DDP(LanguageModel(args.vocab_size).to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        start = time.perf_counter()
        loss_sum = torch.zeros((), device=device)
        num_tokens = torch.zeros((), device=device)
        for ids in loader:
            ids = ids.to(device)
            targets = ids[:, 1:].flatten()
            token_losses = nn.functional.cross_entropy(
                model(ids[:, :-1]).flatten(0, 1), targets, ignore_index=0, reduction="none"
            )
            count = (targets != 0).sum()
            loss = token_losses.sum() / count
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            loss_sum += token_losses.detach().sum()
            num_tokens += count

        print(f"[rank {rank}] epoch {epoch}: {num_tokens.item():.0f} tokens in {time.perf_counter() - start:.3f} s")
        dist.all_reduce(loss_sum)
        dist.all_reduce(num_tokens)
        if rank == 0:
            print(f"epoch {epoch}: loss {(loss_sum / num_tokens).item():.4f} over {num_tokens.item():.0f} tokens")

    if rank == 0:
        torch.save(model.module.state_dict(), args.checkpoint)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
