# What is reduced to one rank is right where that rank shows it. The other ranks keep parts of the sum, so that it is no
# condition for all of them, unless it is sent to them first.

import torch
import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler


def summed(value):
    value = value.clone()
    if dist.is_initialized():
        dist.reduce(value, dst=0)
    return value


def evaluate(net, loader):
    total = torch.zeros((), device="cuda")
    with torch.no_grad():
        for x, y in loader:
            total += (net.module(x.cuda()) - y.cuda()).abs().sum()
    return total


def shown_by_main(net, loader):
    best = 9.0
    for _ in range(10):
        total = summed(evaluate(net, loader))
        if dist.get_rank() == 0:
            total /= dist.get_world_size()
            if total.item() < best:
                best = total.item()
                torch.save(net.module.state_dict(), "best.pt")
            wandb.log({"total": total.item(), "best": best})
        dist.barrier()


def told_to_all(net, loader):
    for _ in range(10):
        total = evaluate(net, loader)
        dist.reduce(total, 0)
        dist.broadcast(total, 0)
        if total.item() > 9:
            break
        dist.barrier()


def reduced_to_all(net, loader):
    for _ in range(10):
        total = evaluate(net, loader)
        dist.all_reduce(total)
        if total.item() > 9:
            break
        dist.barrier()


def left_by_parts(net, loader):
    for _ in range(10):
        total = evaluate(net, loader)
        dist.reduce(total, 0)
        if total.item() > 9:
            break  # expect: TRL006
        dist.barrier()


def left_by_a_flag(net, loader):
    for _ in range(10):
        total = evaluate(net, loader)
        dist.reduce(total, 0)
        mean = total.item() / dist.get_world_size()
        ends = False
        if not mean < 9:
            ends = True
        if ends:
            return  # expect: TRL006
        dist.barrier()


def left_if_worse_than_before(net, loader, best):
    for _ in range(10):
        total = evaluate(net, loader)
        dist.reduce(total, 0)
        if total.item() > best:
            return  # expect: TRL006
        dist.barrier()


def saved_by_parts(net, loader):
    total = evaluate(net, loader)
    dist.reduce(total, 0)
    if total.item() < 9:
        torch.save(net.module.state_dict(), "good.pt")  # expect: TRL008


def main(data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    saved_by_parts(net, loader)
    shown_by_main(net, loader)
    told_to_all(net, loader)
    reduced_to_all(net, loader)
    left_by_parts(net, loader)
    left_by_a_flag(net, loader)
    left_if_worse_than_before(net, loader, torch.load("best.pt")["best"])


main(torch.load("data.pt"))
