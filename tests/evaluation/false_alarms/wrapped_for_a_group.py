# Models wrapped for a process group: only its ranks build and run them.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Roles:
    def __init__(self):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.trainers = list(range(self.world - 1))
        self.group = dist.new_group(self.trainers)

    @property
    def trains(self):
        return self.rank in self.trainers


def step(model, optimizer):
    loss = model(torch.randn(8, 5, device="cuda")).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(group, gpu):
    model = DDP(nn.Linear(5, 5).cuda(), device_ids=[gpu], process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(100):
        step(model, optimizer)


def train_all(gpu):
    model = DDP(nn.Linear(5, 5).cuda(), device_ids=[gpu], process_group=None)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(100):
        step(model, optimizer)


def main():
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    roles = Roles()
    if roles.trains:
        train(roles.group, gpu)
    dist.barrier()
    if roles.trains:
        train_all(gpu)  # expect: TRL006
    dist.barrier()
    if roles.trains:
        model = DDP(nn.Linear(5, 5).cuda(), device_ids=[gpu], process_group=roles.group)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
    dist.barrier()
    if roles.trains:
        step(model, optimizer)


if __name__ == "__main__":
    main()
