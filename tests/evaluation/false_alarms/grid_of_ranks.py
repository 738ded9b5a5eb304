# Tests for ranks outside the job, or outside the grid that its ranks form, keep no rank from a barrier.
import math

import torch
import torch.distributed as dist


def side_of(size):
    root = int(size ** (1.0 / 3.0))
    if root**3 == size:
        return root
    return root + 1


def in_row(rank, size):
    if rank >= size:
        return
    dist.barrier()


def all_but_one(rank, size):
    if rank >= size - 1:
        return  # expect: TRL006
    dist.barrier()


def half(rank, size):
    if rank >= size // 2:
        return  # expect: TRL006
    dist.barrier()


def first_node():
    if dist.get_rank() >= torch.cuda.device_count():
        return  # expect: TRL006
    dist.barrier()


def of_group(group):
    if dist.get_rank() >= dist.get_world_size(group):
        return  # expect: TRL006
    dist.barrier()


def in_square(rank, size):
    rows = math.floor(math.sqrt(size))
    columns = math.floor(math.sqrt(size))
    row = int(rank / columns)
    column = rank % columns
    if row >= rows or column >= columns:
        return
    dist.barrier()


def without_last_row(rank, size):
    rows = math.floor(math.sqrt(size))
    row = rank // rows
    if row >= rows - 1:
        return  # expect: TRL006
    dist.barrier()


def in_cube(rank, size):
    rows = side_of(size)
    columns = side_of(size)
    layers = side_of(size)
    row = int((rank // layers) // columns)
    column = int((rank // layers) % columns)
    layer = rank - (row * (columns * layers) + column * layers)
    if row >= rows or column >= columns or layer >= layers:
        return
    dist.barrier()


def in_rectangle(rank, size, columns):
    rows = size // columns
    if rank // columns < rows:
        dist.barrier()


def half_of_nodes(rank, size):
    node = rank // 8
    if node >= size // 16:
        return  # expect: TRL006
    dist.barrier()


def beyond_no_number(rank):
    shape = ()
    if rank >= shape:
        return  # expect: TRL006
    dist.barrier()


def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    in_row(rank, size)
    all_but_one(rank, size)
    half(rank, size)
    first_node()
    of_group(dist.new_group([0, 1]))
    in_square(rank, size)
    without_last_row(rank, size)
    in_cube(rank, size)
    in_rectangle(rank, size, 4)
    half_of_nodes(rank, size)
    beyond_no_number(rank)


main()
