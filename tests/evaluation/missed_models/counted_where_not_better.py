# Counts of evaluations without progress that only one rank keeps, although all agree on whether there was any.
import argparse

import torch
import torch.distributed as dist
from accelerate import Accelerator


def counted_on_main(model, optimizer, loader, patience):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    best, bad = 1e9, 0
    for _ in range(10):
        for x in loader:
            loss = model(x).mean()
            accelerator.backward(loss)
            optimizer.step()
        error = accelerator.gather(loss.detach()).mean().item()
        if error < best:
            best, bad = error, 0
        elif accelerator.is_main_process:
            bad += 1
        if bad > patience:
            break  # expect: TRL006


def counted_on_all(model, optimizer, loader, patience):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    best, bad = 1e9, 0
    for _ in range(10):
        for x in loader:
            loss = model(x).mean()
            accelerator.backward(loss)
            optimizer.step()
        error = accelerator.gather(loss.detach()).mean().item()
        if error < best:
            best, bad = error, 0
        else:
            bad += 1
        if bad > patience:
            break


class Stopping:
    def __init__(self, patience):
        self.accelerator = Accelerator()
        self.best, self.bad = 1e9, 0
        self.patience = patience

    def on_main(self, errors):
        for each in errors:
            error = self.accelerator.gather(each).mean().item()
            if error < self.best:
                self.best, self.bad = error, 0
            elif self.accelerator.is_main_process:
                self.bad += 1
            if self.bad > self.patience:
                break  # expect: TRL006


def told_by_all(batches, model):
    # A constant under what all agreed on: whoever had stopped, now all have.
    stops = False
    for x in batches:
        stops = stops or bool(torch.isnan(model(x)).any())
        told = torch.tensor(float(stops), device="cuda")
        dist.all_reduce(told, op=dist.ReduceOp.MAX)
        if told.item() > 0:
            stops = True
        if stops:
            break
        dist.barrier()


def told_by_all_beside_another(model, loader, state):
    # What the other branch sets is another thing with this name.
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for x in loader:
        stops = bool(model(x).mean() > 3)
        told = accelerator.gather(torch.tensor([float(stops)], device="cuda")).sum().item()
        if told:
            stops = True
        else:
            state.stops = False
        if stops:
            break


def told_by_first(batches, rank):
    stops = False
    for x in batches:
        told = torch.tensor(float(stops), device="cuda")
        dist.all_reduce(told)
        if told.item() > 0:
            stops = True
        elif rank == 0:
            print(x)
        if stops:
            break
        dist.barrier()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    given = list(torch.ones(8, 4, device="cuda"))
    told_by_all(given, torch.nn.Linear(4, 1))
    told_by_first(given, dist.get_rank())
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters())
    counted_on_main(net, optimizer, torch.utils.data.DataLoader(given, 2), 3)
    counted_on_all(net, optimizer, torch.utils.data.DataLoader(given, 2), 3)
    told_by_all_beside_another(net, torch.utils.data.DataLoader(given, 2), argparse.Namespace())
    Stopping(3).on_main(given)
