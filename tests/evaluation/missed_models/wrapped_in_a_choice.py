"""A conditional expression wraps the model under another name, and the model itself is trained."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from mine import batches, options

args = options()
distributed = "RANK" in os.environ
if distributed:
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def past_it():
    model = nn.Linear(4, 4).cuda()
    ddp = DistributedDataParallel(model) if distributed else None
    for batch in batches:
        model(batch).mean().backward()  # expect: TRL009
    return ddp


def past_it_by_setting(net):
    ddp = None if args.on_one else DistributedDataParallel(net)
    for batch in batches:
        net(batch).mean().backward()  # expect: TRL009
    return ddp


def past_it_by_flag():
    model = nn.Linear(4, 4).cuda()
    ddp = DistributedDataParallel(model) if args.distributed else model
    print(ddp.training)
    for batch in batches:
        model(batch).mean().backward()  # expect: TRL009


def through_it():
    model = nn.Linear(4, 4).cuda()
    ddp = DistributedDataParallel(model) if distributed else model
    for batch in batches:
        ddp(batch).mean().backward()


def under_its_name():
    model = nn.Linear(4, 4).cuda()
    model = DistributedDataParallel(model) if distributed else model
    for batch in batches:
        model(batch).mean().backward()


def where_there_is_none():
    model = nn.Linear(4, 4).cuda()
    ddp = DistributedDataParallel(model) if distributed else None
    for batch in batches:
        if ddp is None:
            model(batch).mean().backward()
        else:
            ddp(batch).mean().backward()


def where_it_is_off():
    model = nn.Linear(4, 4).cuda()
    ddp = DistributedDataParallel(model) if distributed else None
    for batch in batches:
        loss = ddp(batch).mean() if ddp else model(batch).mean()
        loss.backward()


def where_it_is_on():
    model = nn.Linear(4, 4).cuda()
    ddp = DistributedDataParallel(model) if distributed else None
    for batch in batches:
        if ddp is not None:
            model(batch).mean().backward()  # expect: TRL009


def chosen_again():
    model = nn.Linear(4, 4).cuda()
    ddp = DistributedDataParallel(model) if distributed else None
    trained = model if ddp is None else ddp
    for batch in batches:
        trained(batch).mean().backward()
        with torch.no_grad():
            print(model(batch).shape)


def another_one():
    model, frozen = nn.Linear(4, 4).cuda(), nn.Linear(4, 4).cuda()
    ddp = DistributedDataParallel(frozen) if distributed else None
    for batch in batches:
        model(batch).mean().backward()
    return ddp


if __name__ == "__main__":
    past_it()
    past_it_by_setting(nn.Linear(4, 4).cuda())
    past_it_by_flag()
    through_it()
    under_its_name()
    where_there_is_none()
    where_it_is_off()
    where_it_is_on()
    chosen_again()
    another_one()
