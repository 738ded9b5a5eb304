# What is read has the name of what is saved at the end: `checkpoint`, which is None if nothing is read.
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def train(args, net):
    checkpoint = None
    if args.resume:
        checkpoint = torch.load(args.resume)
        net.load_state_dict(checkpoint["model"])  # expect: TRL025
    net = DDP(net.cuda())
    for epoch in range(9):
        net(torch.zeros(2, 2).cuda()).sum().backward()
        checkpoint = {"model": net.state_dict(), "epoch": epoch}
        if dist.get_rank() == 0:
            torch.save(checkpoint, args.resume)


def train_with_names_that_fit(args, net):
    checkpoint = None
    if args.resume:
        checkpoint = torch.load(args.resume)
        net.load_state_dict(checkpoint["net"])
    net = DDP(net.cuda())
    for epoch in range(9):
        net(torch.zeros(2, 2).cuda()).sum().backward()
        checkpoint = {"net": net.module.state_dict(), "epoch": epoch}
        if dist.get_rank() == 0:
            torch.save(checkpoint, args.resume)


def train_again(args, net):
    """What is loaded in the second turn may be what the first one has made, without the prefix."""
    bare, net = net, DDP(net.cuda())
    checkpoint = torch.load(args.again)
    for epoch in range(9):
        bare.load_state_dict(checkpoint["again"])
        net(torch.zeros(2, 2).cuda()).sum().backward()
        checkpoint = {"again": bare.state_dict(), "epoch": epoch}
    if dist.get_rank() == 0:
        torch.save({"again": net.state_dict(), "epoch": 9}, args.again)


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank())
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="last.pt")
    parser.add_argument("--again", default="again.pt")
    train(parser.parse_args(), torch.nn.Linear(2, 2))
    dist.barrier()
    train_with_names_that_fit(parser.parse_args(), torch.nn.Linear(2, 2))
    train_again(parser.parse_args(), torch.nn.Linear(2, 2))
