# The state of a sharded optimizer is put together from the parts of all ranks, which all have to send theirs.

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer


def saved(net, path):
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, lr=1e-3)
    optimizer.consolidate_state_dict(to=0)
    if dist.get_rank() == 0:
        torch.save(optimizer.state_dict(), path)


def saved_in_some_runs(net, path, zero):
    kind = ZeroRedundancyOptimizer if zero else torch.optim.AdamW
    optimizer = kind(net.parameters())
    if zero:
        optimizer.consolidate_state_dict()
    if dist.get_rank() == 0:
        torch.save(optimizer.state_dict(), path)


class Saved:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def save(self, path):
        if dist.get_rank() == 0:
            self.optimizer.consolidate_state_dict(to=0)  # expect: TRL006
            torch.save(self.optimizer.state_dict(), path)


def saved_by_one(net, path):
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, lr=1e-3)
    if dist.get_rank() == 0:
        optimizer.consolidate_state_dict(to=0)  # expect: TRL006
        torch.save(optimizer.state_dict(), path)
    Saved(optimizer).save(path)


def main(net):
    dist.init_process_group("nccl")
    saved(net, "all.pt")
    saved_in_some_runs(net, "some.pt", torch.load("zero.pt"))
    saved_by_one(net, "one.pt")


main(torch.nn.Linear(2, 2).cuda())
