# Tokens that a rank reads at its own place in files that it has listed, and a loss of them that is shown as a number.
import glob
import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50304, 64)
        self.head = nn.Linear(64, 50304)

    def forward(self, tokens, targets):
        return nn.functional.cross_entropy(self.head(self.embed(tokens)), targets)


class Loader:
    def __init__(self, pattern, count, place, places):
        self.files = sorted(glob.glob(pattern))
        self.count, self.place, self.places = count, place, places
        self.reset()

    def reset(self):
        self.position = self.place * self.count
        self.tokens = np.fromfile(self.files[0], dtype=np.uint16)

    def next_batch(self):
        tokens = torch.tensor(self.tokens[self.position : self.position + self.count + 1].astype(np.int32))
        self.position += self.count * self.places
        return tokens[:-1].cuda(), tokens[1:].cuda()


def show(text):
    if rank == 0:
        print(text)


model = torch.compile(Network().cuda())
loader = Loader("val_*.bin", 1024, rank, size)


@torch.no_grad()
def shown_alone():
    loader.reset()
    total = 0.0
    for _ in range(20):
        x, y = loader.next_batch()
        total += model(x, y).detach()
    total /= 20
    show(f"loss {total:.4f}")  # expect: TRL003


@torch.no_grad()
def shown_together():
    loader.reset()
    total = 0.0
    for _ in range(20):
        x, y = loader.next_batch()
        total += model(x, y).detach()
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    show(f"loss {total / 20:.4f}")


@torch.no_grad()
def shown_with_the_rank():
    loader.reset()
    for _ in range(20):
        x, y = loader.next_batch()
        output = model(x, y)
    print(f"rank {rank}: {output:.4f}")
    print(f"of {output}")


@torch.no_grad()
def the_same_on_all_ranks():
    whole = Loader("val_*.bin", 1024, 0, 1)
    for _ in range(20):
        x, y = whole.next_batch()
        output = model(x, y)
    show(f"loss {output:.4f}")


shown_alone()
shown_together()
shown_with_the_rank()
the_same_on_all_ranks()
