# Where each branch of a condition on the rank appends as often, the list is as long on all ranks.
import torch
import torch.distributed as dist


def fill(rank, count):
    parts = []
    for _ in range(count):
        if rank == 0:
            parts.append(torch.zeros(4).cuda())
        else:
            parts.append(torch.randn(4).cuda())
    if len(parts) > 1:
        dist.all_reduce(torch.stack(parts))


def fill_by_turns(rank, count, world_size):
    parts = []
    for index in range(count):
        if index % world_size == rank:
            scaled = torch.randn(4).cuda() * 2
            parts.append(scaled)
        elif rank == 0:
            parts.append(torch.ones(4).cuda())
        else:
            print("empty")
            parts.append(torch.zeros(4).cuda())
    if len(parts) > 1:
        dist.all_reduce(torch.stack(parts))


def fill_one(rank):
    parts = [torch.zeros(4).cuda()]
    if rank == 0:
        parts.append(torch.ones(4).cuda())
    else:
        parts.append(torch.zeros(4).cuda())
    if len(parts) > 1:
        dist.all_reduce(torch.stack(parts))


def fill_more(rank, count):
    parts = []
    for _ in range(count):
        if rank == 0:
            parts.append(torch.zeros(4).cuda())
        else:
            parts.append(torch.ones(4).cuda())
            parts.append(torch.ones(4).cuda())
    if len(parts) > 1:
        dist.all_reduce(torch.stack(parts))  # expect: TRL006


def fill_others(rank, count):
    parts, others = [], []
    for _ in range(count):
        if rank == 0:
            parts.append(torch.zeros(4).cuda())
        else:
            others.append(torch.ones(4).cuda())
    if len(parts) > 1:
        dist.all_reduce(torch.stack(parts))  # expect: TRL006


def main(count):
    dist.init_process_group("nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    fill(rank, count)
    fill_by_turns(rank, count, world_size)
    fill_one(rank)
    fill_more(rank, count)
    fill_others(rank, count)


if __name__ == "__main__":
    main(3)
