# A slice that begins at the number of the rank is this rank's own part, whatever the rows are; what is printed of such
# a share of an evaluation is no result of all rows, unless it is reduced. A slice at another place says nothing.

import json

import torch
import torch.distributed as dist
import wandb
from data import load


def scored(net, rows):
    good = torch.zeros(2, device="cuda")
    for row in rows:
        good += torch.tensor([float(net(row).argmax() == 1), 1.0], device="cuda")
    return good


def of_a_share(net, rows, rank, size):
    good = scored(net, rows[rank::size])
    right, total = good.tolist()
    return right / total


def of_all(net, rows, rank, size):
    good = scored(net, rows[rank::size])
    dist.all_reduce(good)
    right, total = good.tolist()
    return right / total


def of_the_first(net, rows, size):
    right, total = scored(net, rows[0::size]).tolist()
    return right / total


def of_a_chosen_part(net, rows, start):
    right, total = scored(net, rows[start : start + 10]).tolist()
    return right / total


@torch.inference_mode()
def losses_of(net, rows):
    return [net(row).mean().item() for row in rows]


@torch.no_grad()
def shown_as_it_goes(net, paths, rank, size):
    pictures = [load(path) for path in paths[rank::size]]
    for picture in pictures:
        loss = net(picture).mean().item()
        print(f"loss {loss}")


@torch.no_grad()
def shown_by_each(net, rows, rank, size):
    losses = [net(row).mean().item() for row in rows[rank::size]]
    print(f"rank {rank}: loss {sum(losses) / len(losses)}")


@torch.no_grad()
def shown_for_all(net, rows, rank, size):
    losses = [net(row).mean().item() for row in rows[rank::size]]
    total = torch.tensor([sum(losses), len(losses)], device="cuda")
    dist.all_reduce(total)
    if rank == 0:
        print(f"loss {(total[0] / total[1]).item()}")


@torch.no_grad()
def shown_for_a_share(net, rows, rank, size):
    losses = [net(row).mean().item() for row in rows[rank::size]]
    if rank == 0:
        print(f"loss {sum(losses) / len(losses)}")  # expect: TRL003


@torch.no_grad()
def counted_for_a_share(net, rows, rank, size):
    losses = []
    for row in rows[rank::size]:
        losses.append(net(row).mean().item())
    if rank == 0:
        print(f"loss {sum(losses) / len(losses)}")  # expect: TRL003


def main(net, start):
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    loaded = load("rows.pt")
    with open("rows.txt") as text, open("rows.json") as table:
        lines, entries = text.readlines(), json.load(table)
    first, second = of_a_share(net, lines, rank, size), of_a_share(net, loaded, rank, size)
    third = of_a_share(net, entries, rank, size)
    whole, part = of_all(net, loaded, rank, size), of_the_first(net, loaded, size)
    chosen = of_a_chosen_part(net, loaded, start)
    if rank == 0:
        wandb.log({"whole": whole, "part": part, "chosen": chosen, "first": first})  # expect: TRL003
        wandb.log({"second": second})  # expect: TRL003
        wandb.log({"third": third})  # expect: TRL003
    shown_as_it_goes(net, loaded, rank, size)
    shown_by_each(net, loaded, rank, size)
    shown_for_all(net, loaded, rank, size)
    shown_for_a_share(net, loaded, rank, size)
    counted_for_a_share(net, lines, rank, size)


main(torch.nn.Linear(2, 2), 5)
