# A process that ends by its own loss leaves the others waiting, unless its status has the launcher end them, too.
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def with_success(model, loader, optimizer):
    for batch in loader:
        loss = model(batch).mean()
        if torch.isnan(loss):
            print("no number")
            sys.exit()  # expect: TRL006
        loss.backward()
        optimizer.step()


def as_failed(model, loader, optimizer):
    for batch in loader:
        loss = model(batch).mean()
        if torch.isnan(loss):
            sys.exit(1)
        loss.backward()
        optimizer.step()


def together(model, loader, optimizer):
    for batch in loader:
        loss = model(batch).mean()
        reduced = loss.detach().clone()
        dist.all_reduce(reduced)
        if torch.isnan(reduced):
            sys.exit()
        loss.backward()
        optimizer.step()


def without_others(loader, thresholds):
    for batch in loader:
        if batch.mean() > thresholds[0]:
            print("too large")
            exit()
    print("all right")


def main(args, rows, net):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        with_success(model, loader, optimizer)
        as_failed(model, loader, optimizer)
        together(model, loader, optimizer)
    without_others(loader, args.thresholds)
