# Functions that all ranks call, with a logger on the first rank and with None on the others.
import logging

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def run(rank, rows):
    dist.init_process_group("nccl", rank=rank)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    net = DDP(torch.nn.Linear(2, 2))
    for epoch in range(3):
        if rank == 0:
            train(rank, epoch, [net], loader, logging.getLogger("train"))
        else:
            train(rank, epoch, [net], loader, None)
        if rank == 0:
            with open("log.txt", "a") as log:
                close(net, log)
        else:
            close(net, None)
        if rank == 0:
            report(net)
        else:
            check(net)
        if epoch > 1:
            keep(net, "last.pt")
        else:
            keep(net, "first.pt")


def train(rank, epoch, nets, loader, logger):
    (net,) = nets
    for x in loader:
        net.module(x).sum().backward()  # expect: TRL009
    torch.save(net.module.state_dict(), "last.pt")  # expect: TRL008
    if rank == 0:
        logger.info(epoch)
        torch.save(net.module.state_dict(), "best.pt")
    if logger is not None:
        logger.info(epoch)
    logger.info("done")  # expect: TRL017


def close(net, log):
    torch.save(net.module.state_dict(), "closed.pt")  # expect: TRL008


def report(net):
    torch.save(net.module.state_dict(), "report.pt")


def check(net):
    return net.module.weight.sum()


def keep(net, path):
    if dist.get_rank() == 0:
        torch.save(net.module.state_dict(), path)


if __name__ == "__main__":
    torch.multiprocessing.spawn(run, args=(read_rows(),), nprocs=2)
