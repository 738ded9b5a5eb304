"""Loaders of a list of samplers, behind which None stands for those of the validation: which is whose is not known."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def create_samplers(datasets, shuffles):
    samplers = []
    for dataset, shuffle in zip(datasets, shuffles, strict=True):
        samplers.append(DistributedSampler(dataset, shuffle=shuffle))
    return samplers


def create_loaders(datasets, samplers, batch_sizes):
    loaders = []
    for dataset, sampler, batch_size in zip(datasets, samplers, batch_sizes, strict=True):
        loaders.append(DataLoader(dataset, batch_size=batch_size, sampler=sampler))
    return loaders


@torch.no_grad()
def evaluation(model, loader):
    losses = []
    for batch in loader:
        losses.append(model(batch).mean())
    return torch.stack(losses).mean().item()


def build(args):
    return torch.load(args.rows), torch.load(args.validation)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows")
    parser.add_argument("--validation")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
    rows, validation = build(args)
    nones = [None]
    some = create_samplers([rows], [True]) + nones
    every = create_samplers([rows, validation], [True, False])
    writer = SummaryWriter() if dist.get_rank() == 0 else None
    _, whole = create_loaders([rows, validation], some, [8, 8])
    _, dealt = create_loaders([rows, validation], every, [8, 8])
    loss = evaluation(model, dealt)
    if writer is not None:
        writer.add_scalar("dealt", loss, 0)  # expect: TRL003
    loss = evaluation(model, whole)
    if writer is not None:
        writer.add_scalar("whole", loss, 0)
    _, unpacked = create_loaders([rows, validation], [*create_samplers([rows], [True]), None], [8, 8])
    loss = evaluation(model, unpacked)
    if writer is not None:
        writer.add_scalar("unpacked", loss, 0)


if __name__ == "__main__":
    main()
