# Ranks that deal out rows have as many only if nothing is left over: a collective for each row waits for the others.
import itertools
import math

import numpy as np
import torch
import torch.distributed as dist
from mine import pad_rows, read, rows, score
from torch.nn.parallel import DistributedDataParallel as DDP
from tqdm import tqdm

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank % torch.cuda.device_count())
model = DDP(torch.nn.Linear(3, 1).cuda())
total = torch.zeros(1).cuda()


def strided():
    for row in rows[rank::size]:
        total.add_(score(row))
        dist.all_reduce(total)  # expect: TRL006
    for i in tqdm(range(rank, len(rows), size)):
        model(rows[i]).mean().backward()  # expect: TRL006
    for i, row in enumerate(rows[rank::size]):
        print(i, dist.all_reduce(read(row)))  # expect: TRL006
    own = rows[rank::size]
    for start in range(0, len(own), 8):
        dist.all_reduce(score(own[start : start + 8]))  # expect: TRL006
    for start in range(rank * 8, len(rows), size * 8):
        dist.all_reduce(score(rows[start : start + 8]))  # expect: TRL006
    for row in rows[rank::size]:
        total.add_(score(row))
    dist.all_reduce(total)


def in_turns():
    for row in [row for i, row in enumerate(rows) if i % size == rank]:
        dist.all_reduce(score(row))  # expect: TRL006
    for row in itertools.islice(rows, rank, None, size):
        dist.all_reduce(score(row))  # expect: TRL006
    for row in itertools.islice(rows, 10):
        dist.all_reduce(score(row))


def in_blocks():
    each = math.ceil(len(rows) / size)
    for row in rows[rank * each : (rank + 1) * each]:
        dist.all_reduce(score(row))  # expect: TRL006
    for i in range(rank * each, min((rank + 1) * each, len(rows))):
        dist.all_reduce(score(rows[i]))  # expect: TRL006
    fewer = len(rows) // size
    for row in rows[rank * fewer : (rank + 1) * fewer]:
        dist.all_reduce(score(row))
    start = rank * fewer
    end = len(rows) if rank == size - 1 else start + fewer
    for row in rows[start:end]:
        dist.all_reduce(score(row))  # expect: TRL006


def with_what_is_left():
    fewer, rest = divmod(len(rows), size)
    start = rank * fewer + min(rank, rest)
    for row in rows[start : start + fewer + (1 if rank < rest else 0)]:
        dist.all_reduce(score(row))  # expect: TRL006
    for _ in range(fewer + (rank < rest)):
        dist.barrier()  # expect: TRL006
    for _ in range(fewer):
        dist.barrier()


def pieces():
    order = list(range(len(rows)))
    for i in order[rank::size]:
        dist.all_reduce(score(rows[i]))  # expect: TRL006
    for i in np.arange(len(rows))[rank::size]:
        dist.all_reduce(score(rows[i]))  # expect: TRL006


def kept_in_a_list():
    own = []
    for i in range(rank, len(rows), size):
        own.append(rows[i])
    for row in own:
        dist.all_reduce(score(row))  # expect: TRL006
    fewest = torch.tensor(len(own)).cuda()
    dist.all_reduce(fewest, op=dist.ReduceOp.MIN)
    for i in range(fewest.item()):
        dist.all_reduce(score(own[i]))


def batches_of(part, most):
    for start in range(0, len(part), most):
        yield part[start : start + most]


def given_by_a_generator():
    for batch in batches_of(rows[rank::size], 8):
        dist.all_reduce(score(batch))  # expect: TRL006
    for batch in batches_of(pad_rows(rows)[rank::size], 8):
        dist.all_reduce(score(batch))


def by_epochs(epochs):
    for _ in range(epochs):
        for row in rows[rank::size]:
            model(row).mean().backward()  # expect: TRL006
        dist.barrier()


strided()
in_turns()
in_blocks()
with_what_is_left()
pieces()
kept_in_a_list()
given_by_a_generator()
by_epochs(3)
