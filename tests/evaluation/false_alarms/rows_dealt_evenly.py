# Loops over a rank's own rows that all ranks run equally often, or that nobody knows to run more often on some ranks.
import os

import torch
import torch.distributed as dist
from mine import args, pad_rows, rows, score
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = DDP(torch.nn.Linear(3, 1).cuda())
optimizer = torch.optim.SGD(model.parameters())


def cut(names):
    names = names[: len(names) // size * size]
    for row in names[rank::size]:
        dist.all_reduce(score(row))


def looked_at():
    assert len(rows) % size == 0
    for row in rows[rank::size]:
        dist.all_reduce(score(row))


def filled_up(names):
    names = pad_rows(names, size)
    for row in names[rank::size]:
        dist.all_reduce(score(row))


def gathered(part):
    whole = torch.zeros(size * len(part)).cuda()
    dist.all_gather_into_tensor(whole, part)
    for row in whole[rank::size]:
        dist.all_reduce(row)


def as_many_as_settings_say():
    for i in range(rank, args.samples, size):
        dist.all_reduce(score(i))
    for i in range(rank, 64, size):
        dist.all_reduce(score(i))


def fewer():
    for row in rows[rank::size][:8]:
        dist.all_reduce(score(row))
    for _, row in zip(range(8), rows[rank::size], strict=False):
        dist.all_reduce(score(row))
    for i, row in enumerate(rows[rank::size]):
        if i == 8:
            break
        dist.all_reduce(score(row))


def in_the_first_steps():
    fewest = len(rows) // size
    for i, row in enumerate(rows[rank::size]):
        score(row)
        if i < fewest and i % 20 == 0:
            dist.barrier()
    for i, row in enumerate(rows[rank::size]):
        score(row)
        if i % 20 == 0:
            dist.barrier()  # expect: TRL006


def until_all_steps_are_done(steps):
    step = 0
    while step < steps:
        for row in rows[rank::size]:
            model(row).mean().backward()
            optimizer.step()
            step += 1
            if step == steps:
                break


def for_ever():
    while True:
        for row in rows[rank::size]:
            model(row).mean().backward()
            optimizer.step()


def joined():
    with model.join():
        for row in rows[rank::size]:
            model(row).mean().backward()


def with_a_limit_that_may_be_off(most):
    for i, row in enumerate(rows[rank::size]):
        if most is not None and i == most:
            break
        dist.all_reduce(score(row))  # expect: TRL006


def one_epoch_after_the_other(epochs):
    for _ in range(epochs):
        for row in rows[rank::size]:
            model(row).mean().backward()  # expect: TRL006


cut(rows)
looked_at()
filled_up(rows)
gathered(torch.zeros(3).cuda())
as_many_as_settings_say()
fewer()
in_the_first_steps()
joined()
with_a_limit_that_may_be_off(args.most)
one_epoch_after_the_other(args.epochs)
until_all_steps_are_done(args.steps)
for_ever()
