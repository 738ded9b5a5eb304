# A `case` that only one rank fits is a condition on the rank, as an `if` is.

import torch
import torch.distributed as dist
import wandb


def shown_by_one(x):
    total = x.sum()
    dist.all_reduce(total)
    match dist.get_rank():
        case 0:
            wandb.log({"total": total.item()})
        case _:
            pass


def waits_in_each(x):
    match dist.get_rank():
        case 0:
            torch.save(x, "x.pt")
            dist.barrier()
        case 1 | 2:
            dist.barrier()
        case other:
            print(other)
            dist.barrier()


def waits_by_settings(x, settings):
    match settings["kind"]:
        case "sum":
            dist.all_reduce(x)
        case "max":
            dist.all_reduce(x, op=dist.ReduceOp.MAX)


def waits_alone():
    match dist.get_rank():
        case 0:
            dist.barrier()  # expect: TRL006
        case _:
            pass


def waits_without_the_first(rank):
    match rank == 0:
        case True:
            print("first")
        case False:
            dist.barrier()  # expect: TRL006


def leaves_before(x):
    rank = dist.get_rank()
    match rank:
        case 0:
            return  # expect: TRL006
        case 1:
            print("second")
    dist.all_reduce(x)


def main(x):
    dist.init_process_group("nccl")
    shown_by_one(x)
    waits_in_each(x)
    waits_by_settings(x, torch.load("settings.pt"))
    waits_alone()
    waits_without_the_first(dist.get_rank())
    leaves_before(x)


main(torch.ones(2).cuda())
