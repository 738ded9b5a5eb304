# A tensor that another one is added to in place stays on its device; one number may be bound anew.
import torch
import torch.distributed as dist
from mine import path


def main(size):
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    rows = open(path).readlines()

    counts = torch.zeros(size, dtype=torch.long)
    on_gpu = torch.zeros(size, dtype=torch.long, device="cuda")
    for row in rows[rank::world]:
        counts += torch.bincount(torch.tensor(ids(row)), minlength=size)
        on_gpu += torch.bincount(torch.tensor(ids(row), device="cuda"), minlength=size)
    dist.all_reduce(counts)  # expect: TRL011
    dist.all_reduce(on_gpu)
    moved = torch.zeros(size)
    moved -= torch.tensor(ids(rows[0]))
    moved = moved.cuda()
    dist.all_reduce(moved)


def ids(row):
    return [int(each) for each in row.split()]


main(10)
