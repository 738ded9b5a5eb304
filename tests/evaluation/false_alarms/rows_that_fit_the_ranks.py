# Rows of which all ranks get as many: their number is chosen, or the code makes it fit the number of ranks.
import itertools
import math
import os

import numpy as np
import torch
import torch.distributed as dist
from mine import args, more, rows, score

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
TASKS = ["copy", "sort", "sum", "find"]


def longer_by_their_own():
    each = math.ceil(len(rows) / size)
    filled = rows + rows[: each * size - len(rows)]
    for row in filled[rank * each : (rank + 1) * each]:
        dist.all_reduce(score(row))
    for row in filled[rank::size]:
        dist.all_reduce(score(row))
    joined = more + rows
    for row in joined[rank::size]:
        dist.all_reduce(score(row))  # expect: TRL006
    for row in joined[rank * each : (rank + 1) * each]:
        dist.all_reduce(score(row))  # expect: TRL006


def longer_in_place(names):
    while len(names) < args.most:
        names.append("")
    for row in names[rank::size]:
        dist.all_reduce(score(row))


def longer_by_one(names):
    names.append("last")
    for row in names[rank::size]:
        dist.all_reduce(score(row))  # expect: TRL006


def times(names):
    names = names * size
    for row in names[rank::size]:
        dist.all_reduce(score(row))


def of_a_chosen_number():
    for task in TASKS[rank::size]:
        dist.all_reduce(score(task))
    seeds = list(range(64))
    for seed in seeds[rank::size]:
        dist.all_reduce(score(seed))
    for seed in np.array_split(np.arange(args.seeds), size)[rank]:
        dist.all_reduce(score(seed))
    for seed in np.array_split(np.arange(len(rows)), size)[rank]:
        dist.all_reduce(score(seed))  # expect: TRL006
    names = [f"row {i}" for i in range(args.per_rank)]
    for name in names[rank::size]:
        dist.all_reduce(score(name))
    names_of_rows = [f"row {i}" for i in range(len(rows))]
    for name in names_of_rows[rank::size]:
        dist.all_reduce(score(name))  # expect: TRL006
    first = rows[: args.rows]
    for row in first[rank::size]:
        dist.all_reduce(score(row))


def as_large_on_all_ranks():
    each = math.ceil(len(rows) / size)
    for i in range(rank * each, (rank + 1) * each):
        dist.all_reduce(score(rows[i % len(rows)]))


def made_up_for():
    own = rows[rank::size]
    if len(own) < args.most:
        own.append(own[-1])
    for row in own:
        dist.all_reduce(score(row))


def annotated():
    filled: list[str] = rows + rows[: args.missing]
    for row in filled[rank::size]:
        dist.all_reduce(score(row))
    own: list[str] = rows[rank::size]
    while len(own) < args.most:
        own.append(own[-1])
    for row in own:
        dist.all_reduce(score(row))
    others: list[str] = rows[rank::size]
    for row in others:
        dist.all_reduce(score(row))  # expect: TRL006


class Keeps:
    def __init__(self):
        self.own = rows[rank::size]
        self.others = rows[rank::size]
        while len(self.own) < args.most:
            self.own.append(self.own[-1])

    def run(self):
        for row in self.own:
            dist.all_reduce(score(row))
        for row in self.others:
            dist.all_reduce(score(row))  # expect: TRL006


def made_up_for_later():
    own = rows[rank::size]
    for row in own:
        dist.all_reduce(score(row))
    for _ in range(math.ceil(len(rows) / size) - len(own)):
        dist.all_reduce(torch.zeros(1).cuda())


def first_of():
    own = rows[rank::size]
    for row in itertools.islice(own, args.rows):
        dist.all_reduce(score(row))
    for row in itertools.islice(itertools.cycle(own), args.rows):
        dist.all_reduce(score(row))
    for row in itertools.islice(own, 2, None):
        dist.all_reduce(score(row))  # expect: TRL006


def answered():
    for row in rows[rank::size]:
        having = torch.ones(1).cuda()
        dist.all_reduce(having)
        if having.item() < size:
            break
        score(row)
    else:
        dist.all_reduce(torch.zeros(1).cuda())


def with_nothing_to_answer():
    for row in rows[rank::size]:
        dist.all_reduce(score(row))  # expect: TRL006
    else:
        print("done")


def given_cut(part):
    for row in part[rank::size]:
        dist.all_reduce(score(row))


def given_looked_at(part):
    for row in part[rank::size]:
        dist.all_reduce(score(row))


def given_as_they_are(part):
    for row in part[rank::size]:
        dist.all_reduce(score(row))  # expect: TRL006


def main():
    given_cut(rows[: len(rows) // size * size])
    assert len(more) % size == 0
    given_looked_at(more)
    given_as_they_are(rows)


longer_by_their_own()
longer_in_place(rows)
longer_by_one(rows)
times(rows)
of_a_chosen_number()
as_large_on_all_ranks()
made_up_for()
made_up_for_later()
annotated()
Keeps().run()
first_of()
answered()
with_nothing_to_answer()
main()
