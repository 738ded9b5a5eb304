# A helper returns one loader for a test, and a list of two to train with: who takes one out has the list.
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def load(rows, args):
    if args.test:
        return DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    training = DataLoader(rows, sampler=DistributedSampler(rows))
    return [training, DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))]


def main(args, rows):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(4, 4).cuda())
    optimizer = optim.SGD(model.parameters(), 1e-3)
    loaders = load(rows, args)
    for _ in range(10):  # expect: TRL019
        for batch in loaders[0]:
            model(batch).mean().backward()
            optimizer.step()
    for _ in range(10):
        for batch in loaders[1]:
            model(batch).mean().backward()
            optimizer.step()
    for batch in load(rows, args):
        dist.barrier()
        print(model(batch))
