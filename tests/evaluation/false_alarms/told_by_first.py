# The first rank keeps its decision, and the others take the one that it has broadcast.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Patience:
    def __init__(self):
        self.best, self.since = 0.0, 0

    def is_over(self, score):
        self.since = 0 if score > self.best else self.since + 1
        self.best = max(self.best, score)
        return self.since > 3


def score_of(model, loader):
    right = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()
    return right


def train(net, loader, held_out):
    rank, patience, stop = dist.get_rank(), Patience(), False
    model = DistributedDataParallel(net)
    for _ in range(100):
        for x, _ in loader:
            model(x).sum().backward()
        if rank == 0:
            stop = patience.is_over(score_of(net, held_out))
        told = [stop if rank == 0 else None]
        dist.broadcast_object_list(told, 0)
        if rank != 0:
            stop = told[0]
        if stop:
            break


def train_untold(net, loader, held_out):
    rank, patience, stop = dist.get_rank(), Patience(), False
    model = DistributedDataParallel(net)
    for _ in range(100):
        for x, _ in loader:
            model(x).sum().backward()
        if rank == 0:
            stop = patience.is_over(score_of(net, held_out))
        if stop:
            break  # expect: TRL006
    torch.save(net.state_dict(), f"{rank}.pt")
