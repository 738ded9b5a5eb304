# The count of the steps that a model is given is not data: the main process evaluates on all rows.
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from models import build, losses_of
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def evaluate(model, rows, step, writer):
    total = 0
    for batch in DataLoader(rows, batch_size=8):
        with torch.no_grad():
            total += torch.nn.functional.mse_loss(model(batch[0], step=step), batch[1]).item()
    writer.add_scalar("evaluation", total / len(rows), step)


def evaluate_own(model, rows, writer):
    total = 0
    for batch in DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows)):
        with torch.no_grad():
            total += torch.nn.functional.mse_loss(model(batch[0]), batch[1]).item()
    writer.add_scalar("evaluation", total / len(rows))  # expect: TRL003


def train(rank, args, rows, held_out):
    dist.init_process_group("nccl", rank=rank, world_size=2)
    model = DistributedDataParallel(build(), device_ids=[rank])
    writer = SummaryWriter("logs") if rank == 0 else None
    step = args.first + 1
    for batches in DataLoader(rows, sampler=DistributedSampler(rows), shuffle=False):
        for batch in batches:
            loss = losses_of(model(batch[0], step=step), batch[1])
            loss.backward()
            step += 1
        if rank == 0:
            evaluate(model.module, held_out, step, writer)
            evaluate_own(model.module, held_out, writer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    mp.spawn(train, args=(parser.parse_args(), range(64), range(8)), nprocs=2)
