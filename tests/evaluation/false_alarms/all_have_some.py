# All ranks leave where one of them has nothing, which the least of their numbers says: the others have a value.
import sys

import torch
import torch.distributed as dist


def gathered(value):
    parts = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, value)
    return torch.stack(parts)


def cut_to_least(rows, gather_fn):
    count = torch.tensor([rows.size(0) if rows is not None else 0])
    least = int(gather_fn(count).view(-1).min().item())
    if least == 0:
        return None
    return gather_fn(rows[:least])


def cut_to_least_in_place(rows):
    count = torch.tensor([0 if rows is None else len(rows)])
    dist.all_reduce(count, op=dist.ReduceOp.MIN)
    if count.item() < 1:
        return None
    return rows.sum()


def cut_to_least_in_list(rows):
    count = torch.tensor([0 if rows is None else len(rows)])
    counts = [torch.zeros_like(count) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, count)
    least = min(int(each) for each in counts)
    if least > 0:
        return rows.sum()
    return None


def cut_if_all_have_it(rows):
    present = torch.tensor(int(rows is not None))
    dist.all_reduce(present, op=dist.ReduceOp.MIN)
    if not present:
        return None
    return rows.sum()


def cut_to_largest(rows):
    count = torch.tensor([rows.size(0) if rows is not None else 0])
    largest = int(gathered(count).max().item())
    if largest == 0:
        return None
    return gathered(rows[:largest])  # expect: TRL017


def cut_to_total(rows):
    count = torch.tensor([0 if rows is None else len(rows)])
    dist.all_reduce(count)
    if count.item() == 0:
        return None
    return rows.sum()  # expect: TRL017


def cut_to_least_of_others(rows, others):
    count = torch.tensor([0 if others is None else len(others)])
    least = gathered(count).min().item()
    if least == 0:
        return None
    return rows.sum()  # expect: TRL017


def cut_to_least_of_group(rows, group):
    count = torch.tensor([0 if rows is None else len(rows)])
    dist.all_reduce(count, op=dist.ReduceOp.MIN, group=group)
    if count.item() == 0:
        return None
    return rows.sum()  # expect: TRL017


def cut_to_least_of_world(rows):
    count = torch.tensor([0 if rows is None else len(rows)])
    dist.all_reduce(count, op=dist.ReduceOp.MIN, group=dist.group.WORLD)
    if count.item() == 0:
        return None
    return rows.sum()


def cut_to_least_that_is_one(rows):
    count = torch.tensor([1 if rows is None else len(rows)])
    least = gathered(count).min().item()
    if least == 0:
        return None
    return rows.sum()  # expect: TRL017


def cut_where_it_is_empty(rows):
    count = torch.tensor([0 if rows is None else len(rows)])
    least = gathered(count).min().item()
    if least == 0:
        return rows.sum()  # expect: TRL017
    return None


def main(kind, size):
    dist.init_process_group("gloo")
    if kind == 0:
        cut_to_least(torch.ones(size) if dist.get_rank() == 0 else None, gathered)
    elif kind == 1:
        cut_to_least_in_place(torch.ones(size) if dist.get_rank() == 0 else None)
    elif kind == 2:
        cut_to_least_in_list(torch.ones(size) if dist.get_rank() == 0 else None)
    elif kind == 3:
        cut_if_all_have_it(torch.ones(size) if dist.get_rank() == 0 else None)
    elif kind == 4:
        cut_to_largest(torch.ones(size) if dist.get_rank() == 0 else None)
    elif kind == 5:
        cut_to_total(torch.ones(size) if dist.get_rank() == 0 else None)
    elif kind == 6:
        cut_to_least_of_others(torch.ones(size) if dist.get_rank() == 0 else None, torch.ones(size))
    elif kind == 7:
        cut_to_least_that_is_one(torch.ones(size) if dist.get_rank() == 0 else None)
    elif kind == 8:
        cut_where_it_is_empty(torch.ones(size) if dist.get_rank() == 0 else None)
    elif kind == 9:
        cut_to_least_of_group(torch.ones(size) if dist.get_rank() == 0 else None, dist.new_group([0, 1]))
    elif kind == 10:
        cut_to_least_of_world(torch.ones(size) if dist.get_rank() == 0 else None)


main(int(sys.argv[1]), 4)
