# Under `join` a rank that has fewer batches than the others keeps nobody waiting in a step; in a gather it does.
from contextlib import nullcontext

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel


def step(model, x):
    model(x).sum().backward()


def joined(model, batches):
    with model.join():
        for x in batches:
            if not x.any():
                continue
            step(model, x)


def joined_by_class(model, optimizer, batches):
    with Join([model, optimizer]):
        for x in batches:
            if not x.any():
                continue
            model(x).sum().backward()
            optimizer.step()


def joined_if_wrapped(model, uneven, batches):
    context = model.join if uneven else nullcontext
    with context():
        for x in batches:
            if not x.any():
                continue
            step(model, x)


def joined_if_asked(model, uneven, batches):
    if uneven:
        context = model.join
        print("joined")
    else:
        context = nullcontext
    with context():
        for x in batches:
            if not x.any():
                continue
            step(model, x)


def gathering(model, batches):
    total = torch.zeros(1, device="cuda")
    with model.join(divide_by_initial_world_size=False):
        for x in batches:
            if not x.any():
                continue  # expect: TRL006
            loss = model(x).sum()
            loss.backward()
            total += loss.detach()
            dist.all_reduce(total)


def apart(model, batches):
    for x in batches:
        if not x.any():
            continue  # expect: TRL006
        step(model, x)


def not_joined(model, batches):
    with model.join(enable=False):
        for x in batches:
            if not x.any():
                continue  # expect: TRL006
            step(model, x)


def main(rows):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    batches = rows[dist.get_rank()]
    joined(model, batches)
    joined_by_class(model, optimizer, batches)
    joined_if_wrapped(model, len(rows) > 8, batches)
    joined_if_asked(model, len(rows) > 8, batches)
    gathering(model, batches)
    apart(model, batches)
    not_joined(model, batches)


def accelerated(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    with accelerator.join_uneven_inputs([model], even_batches=False):
        for x in loader:
            if not x.any():
                continue
            accelerator.backward(model(x).sum())
    for x in loader:
        if not x.any():
            continue  # expect: TRL006
        accelerator.backward(model(x).sum())
    for x in loader:
        with accelerator.join_uneven_inputs([model]):
            for _ in range(int(x.sum())):
                accelerator.backward(model(x).sum())
        for _ in range(int(x.sum())):
            accelerator.backward(model(x).sum())  # expect: TRL006
