# A module that trains itself is an object: attributes and methods are its own, and the model that it wraps is one of
# them. Wrapped from outside it is a model like any other.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Training(nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.steps = 0
        self.net = DistributedDataParallel(nn.Linear(2, 1).to(rank))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, rows):
        self.optimizer.zero_grad()
        self.net(rows).mean().backward()
        self.optimizer.step()
        self.steps += 1

    def save(self, path):
        if dist.get_rank() == 0:
            torch.save(self.net.module.state_dict(), path)


class Alone(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 2
        self.net = nn.Linear(2, 1)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def forward(self, rows):
        return self.net(rows)

    def update(self, rows):
        self.optimizer.zero_grad()
        self(rows).mean().backward()
        self.optimizer.step()


dist.init_process_group("nccl")
training = Training(int(os.environ["LOCAL_RANK"])).cuda().train()
for rows in torch.load("rows.pt"):
    training.update(rows)
    print(training.steps, training.net.module.weight)
training.save("net.pt")
try:
    print(training.net.weight)  # expect: TRL002
except Exception as error:
    print(error)
    raise
try:
    print(training.net.bias)
except Exception as error:
    print(error)
wrapped = DistributedDataParallel(Alone())
print(wrapped.module.depth)
print(wrapped.depth)  # expect: TRL002
wrapped.update(torch.load("rows.pt"))  # expect: TRL002
