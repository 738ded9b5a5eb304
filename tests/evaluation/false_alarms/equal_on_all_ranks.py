# Whether all ranks have sent what this one has: if two of them differ, each rank sees one that is not its own.
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as with_gradient
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler


def reduced_by_size(rows):
    size = torch.tensor([rows.size(0)], device=rows.device)
    sizes = [torch.zeros_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    if not all(each.item() == size.item() for each in sizes):
        return rows
    return with_gradient.all_reduce(rows.mean(0))


def reduced_by_number(rows):
    number = len(rows)
    numbers = [None] * dist.get_world_size()
    dist.all_gather_object(numbers, number)
    if any([number != each for each in numbers]):
        return rows
    return with_gradient.all_reduce(rows.mean(0))


def reduced_by_shape(rows):
    shapes = [None] * dist.get_world_size()
    dist.all_gather_object(shapes, rows.shape)
    differ = any(each[0] != rows.shape[0] for each in shapes)
    if differ:
        return rows
    return with_gradient.all_reduce(rows.mean(0))


def reduced_with_accelerator(rows, accelerator):
    sizes = accelerator.gather(torch.tensor([len(rows)], device=accelerator.device)).tolist()
    if all(each == len(rows) for each in sizes):
        return accelerator.reduce(rows.mean(0))
    return rows


def reduced_by_largest(rows):
    size = torch.tensor([rows.size(0)], device=rows.device)
    sizes = [torch.zeros_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    if not all(each.item() <= size.item() for each in sizes):
        return rows  # expect: TRL006
    return with_gradient.all_reduce(rows.mean(0))


def reduced_by_others(rows):
    size = torch.tensor([rows.size(0)], device=rows.device)
    sizes = [torch.zeros_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    if not all(each.item() == size.item() for each in sizes[1:]):
        return rows  # expect: TRL006
    return with_gradient.all_reduce(rows.mean(0))


def reduced_by_another_size(rows):
    size = torch.tensor([rows.size(0)], device=rows.device)
    columns = torch.tensor([rows.size(1)], device=rows.device)
    sizes = [torch.zeros_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    if not all(each.item() == columns.item() for each in sizes):
        return rows  # expect: TRL006
    return with_gradient.all_reduce(rows.mean(0))


def reduced_by_size_cut_after(rows):
    size = rows.size(0)
    sizes = [None] * dist.get_world_size()
    dist.all_gather_object(sizes, size)
    size = min(size, rows.size(1))
    if not all(each == size for each in sizes):
        return rows  # expect: TRL006
    return with_gradient.all_reduce(rows.mean(0))


def reduced_by_size_changed_in_place(rows):
    size = torch.tensor([rows.size(0)], device=rows.device)
    sizes = [torch.zeros_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    size.clamp_(max=rows.size(1))
    if not all(each.item() == size.item() for each in sizes):
        return rows  # expect: TRL006
    return with_gradient.all_reduce(rows.mean(0))


def reduced_by_size_of_last_turn(rows, steps):
    size = rows.size(0)
    sizes = [None] * dist.get_world_size()
    dist.all_gather_object(sizes, size)
    for _ in range(steps):
        if all(each == size for each in sizes):
            dist.barrier()  # expect: TRL006
        size = int((rows[:, 0] > rows[:, 1]).sum())


def reduced_by_place_of_rank(rows):
    shapes = [None] * dist.get_world_size()
    dist.all_gather_object(shapes, rows.shape)
    rank = dist.get_rank()
    if any(each[rank] != rows.shape[rank] for each in shapes):
        return rows  # expect: TRL006
    return with_gradient.all_reduce(rows.mean(0))


def reduced_by_numbers_of_some(rows, group):
    sizes = [None] * dist.get_world_size(group)
    dist.all_gather_object(sizes, rows.size(0), group=group)
    if any(each != rows.size(0) for each in sizes):
        return rows  # expect: TRL006
    return with_gradient.all_reduce(rows.mean(0))


def main(data):
    dist.init_process_group("nccl")
    pair = dist.new_group([0, 1])
    accelerator = Accelerator()
    for batch in DataLoader(data, batch_size=4, sampler=DistributedSampler(data)):
        rows = batch[batch[:, 0] > 0]
        sizes = [None] * dist.get_world_size()
        size = int(rows.size(0))
        dist.all_gather_object(sizes, size)
        if all(size == each for each in sizes):
            dist.barrier()
        reduced_by_size(rows)
        reduced_by_number(rows)
        reduced_by_shape(rows)
        reduced_with_accelerator(rows, accelerator)
        reduced_by_largest(rows)
        reduced_by_others(rows)
        reduced_by_another_size(rows)
        reduced_by_size_cut_after(rows)
        reduced_by_size_changed_in_place(rows)
        reduced_by_size_of_last_turn(rows, 3)
        reduced_by_place_of_rank(rows)
        reduced_by_numbers_of_some(rows, pair)
