# Gradients that DDP or FSDP is told not to reduce before the last backward pass of a step.
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP


def inverted(loader, accumulate):
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter(loader)
    while True:
        for micro in range(accumulate):
            model.require_backward_grad_sync = micro < accumulate - 1  # expect: TRL009
            loss = model(next(batches)).sum() / accumulate
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        for micro in range(accumulate):
            model.require_backward_grad_sync = micro == accumulate - 1
            loss = model(next(batches)).sum() / accumulate
            loss.backward()
        optimizer.step()


def if_distributed(loader, accumulate, distributed):
    model = torch.nn.Linear(2, 2).cuda()
    if distributed:
        model = DDP(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        for micro in range(accumulate):
            if distributed:
                model.require_backward_grad_sync = micro == accumulate  # expect: TRL009
            loss = model(batch[micro]).sum()
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    for batch in loader:
        for micro in range(accumulate):
            if micro < accumulate - 1:  # in some turns: nothing is known of the others
                model.require_backward_grad_sync = False
            loss = model(batch[micro]).sum()
            scaler.scale(loss).backward()
        scaler.step(optimizer)


def in_each_batch(loader, every):
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number, x in enumerate(loader):
        last = (number + 1) % every == 0
        model.require_backward_grad_sync = not last  # expect: TRL009
        model(x).sum().backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
    for number, x in enumerate(loader):
        last = (number + 1) % every == 0
        model.require_backward_grad_sync = last
        model(x).sum().backward()
        if last:
            optimizer.step()
    for number, x in enumerate(loader):
        last = (number + 1) % every == 0
        model.require_backward_grad_sync = last  # a step after each batch is another matter
        model(x).sum().backward()
        optimizer.step()


def in_the_first_turn(loader, accumulate):
    """In the first of several: with one alone, it would be the last as well."""
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        for micro in range(accumulate):
            model.require_backward_grad_sync = micro == 0  # expect: TRL009
            model(batch[micro]).sum().backward()
        optimizer.step()
    for batch in loader:
        for micro in range(accumulate):
            model.require_backward_grad_sync = micro > 0
            model(batch[micro]).sum().backward()
        optimizer.step()
    for batch in loader:
        for micro in range(accumulate):
            model.require_backward_grad_sync = micro == 3  # it may be the last one
            model(batch[micro]).sum().backward()
        optimizer.step()


def off_and_on(loader):
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        model.require_backward_grad_sync = False
        for x in batch[:-1]:
            model(x).sum().backward()
        model.require_backward_grad_sync = True
        model(batch[-1]).sum().backward()
        optimizer.step()
    for x in loader:
        model.require_backward_grad_sync = False  # expect: TRL009
        model(x).sum().backward()
        optimizer.step()


def after_the_forward(loader, accumulate):
    """DDP asks for it in its forward: it is off for the next one."""
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        for micro in range(accumulate):
            loss = model(batch[micro]).sum()
            model.require_backward_grad_sync = micro != accumulate - 1
            loss.backward()
        optimizer.step()


def sharded(loader, accumulate):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter(loader)
    while True:
        for micro in range(accumulate):
            model.set_requires_gradient_sync(micro != accumulate - 1)  # expect: TRL009
            model(next(batches)).sum().backward()
        optimizer.step()
        for micro in range(accumulate):
            model.set_requires_gradient_sync(micro == accumulate - 1)
            model(next(batches)).sum().backward()
        optimizer.step()


def after_exits(loader, accumulate, only_once):
    """What leaves before both the switch and the step does not matter; the inside of the wrapper is stepped."""
    number = torch.load("last.pt")["number"]
    model = DDP(torch.nn.Linear(2, 2).cuda())
    raw = model.module if dist.get_world_size() > 1 else model
    optimizer = make_optimizer(raw)
    while True:
        if number == 0 and only_once:
            break
        for micro in range(accumulate):
            model.require_backward_grad_sync = micro != accumulate - 1  # expect: TRL009
            model(next(loader)).sum().backward()
        optimizer.step()
        number += 1


def make_optimizer(net):
    return torch.optim.SGD(net.parameters(), lr=0.1)


def with_turns_left_out(loader, accumulate):
    """The last turn may be one that is left out, after one in which gradients are reduced."""
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        for micro in range(accumulate):
            if batch[micro] is None:
                continue
            model.require_backward_grad_sync = micro != accumulate - 1
            model(batch[micro]).sum().backward()
        optimizer.step()


def main(loader):
    dist.init_process_group("nccl")
    distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    inverted(loader, 4)
    if_distributed(loader, 4, distributed)
    in_each_batch(loader, 4)
    in_the_first_turn(loader, 4)
    off_and_on(loader)
    after_the_forward(loader, 4)
    sharded(loader, 4)
    after_exits(iter(loader), 4, False)
    with_turns_left_out(loader, 4)


if __name__ == "__main__":
    main([])
