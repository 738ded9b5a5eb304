"""The rank is an attribute that a program sets on a class of settings, which it hands on as it is."""

import os

import torch
import torch.distributed as dist
from nets import make_net
from torch.nn.parallel import DistributedDataParallel as DDP


class Args:
    backend = "nccl"
    pretrained = ""


def start(args):
    if args.local_rank != -1:
        dist.init_process_group(args.backend)


def built(args):
    if args.pretrained:
        model = make_net(torch.load(args.pretrained))
    else:
        model = make_net(None)
    if args.local_rank != -1:
        model = DDP(model, device_ids=[args.local_rank])
    return model, {}


def train(args, loader):
    start(args)
    model, state = built(args)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        if args.most_steps < len(batch):
            break
        if hasattr(model, "module"):
            model = model.module
        loss = model(batch).sum()  # expect: TRL009
        loss.backward()
        optimizer.step()


def train_the_wrapped(args, loader):
    start(args)
    model, state = built(args)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        if hasattr(model, "module"):
            torch.save(model.module.state_dict(), f"{args.local_rank}.pt")


class Lora:
    rank = 8


def wait_where_it_is_wide():
    if Lora.rank > 4:
        dist.barrier()


def wait_on_the_first():
    if Args.rank == 0:
        dist.barrier()  # expect: TRL006


if __name__ == "__main__":
    args = Args
    args.local_rank = int(os.environ["LOCAL_RANK"]) if os.environ.get("LOCAL_RANK") else -1
    train(args, open("rows.txt").readlines())
    train_the_wrapped(args, open("rows.txt").readlines())
    args.rank = int(os.environ["RANK"])
    wait_where_it_is_wide()
    wait_on_the_first()
