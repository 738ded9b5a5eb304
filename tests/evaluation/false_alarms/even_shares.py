# A list that is first cut to a multiple of the number of ranks has the same number of rows for each of them.
import torch
import torch.distributed as dist


def count(loss):
    total = torch.tensor([loss], device="cuda")
    dist.all_reduce(total)
    return total.item()


def cut_first(rows, size, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if world_size > 1:
        aligned = (len(rows) // (size * world_size)) * (size * world_size)
        rows = rows[:aligned]
        rows = rows[rank::world_size]
    done = 0
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        if len(batch) < size:
            break
        done += 1
        if done % 4 != 0:
            continue
        count(step(batch))


def cut_at_once(rows, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    own = rows[rank : len(rows) - len(rows) % world_size : world_size]
    if len(own) < 8:
        return
    count(step(own))


def of_a_list(names, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    rows = [name.lower() for name in names]
    rows = rows[: len(rows) // world_size * world_size]
    own = rows[rank::world_size]
    if len(own) < 8:
        return
    count(step(own))


def cut_to_batches_only(rows, size, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    aligned = len(rows) // size * size
    rows = rows[:aligned]
    rows = rows[rank::world_size]
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        if len(batch) < size:
            break  # expect: TRL006
        count(step(batch))  # expect: TRL006


def never_cut(names, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    rows = [name.lower() for name in names]
    own = rows[rank::world_size]
    if len(own) < 8:
        return  # expect: TRL006
    count(step(own))


def train(rows, names, size, step):
    dist.init_process_group("nccl")
    cut_first(rows, size, step)
    cut_at_once(rows, step)
    of_a_list(names, step)
    cut_to_batches_only(rows, size, step)
    never_cut(names, step)


def blocks(rows, size, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    each = len(rows) // world_size
    first = rank * each
    last = first + each
    own = rows[first:last]
    for start in range(0, len(own), size):
        batch = own[start : start + size]
        if len(batch) < size:
            continue
        count(step(batch))


def blocks_of_numbers(rows, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    each = int(len(rows) / world_size)
    own = rows[rank * each : (rank + 1) * each]
    if len(own) < 8:
        return
    count(step(own))


def blocks_rounded_up(rows, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    each = -(-len(rows) // world_size)
    own = rows[rank * each : (rank + 1) * each]
    if len(own) < 8:
        return  # expect: TRL006
    count(step(own))


def blocks_of_another_size(rows, size, step):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    each = len(rows) // world_size
    own = rows[rank * each : rank * each + size]
    if len(own) < 8:
        return  # expect: TRL006
    count(step(own))
