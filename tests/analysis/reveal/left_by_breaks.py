"""Ranks that reach a loop together leave it together: a condition that excludes others does not affect its counters."""

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def count(loader, most):
    n = 0
    for i, images in enumerate(loader):
        if most and i >= most:
            break
        n += 1
    return n


def own(loader):
    n = 0
    for images in loader:
        if images.sum() > 3:
            break
        n += 1
    return n


def main(model, rows, args):
    model = DistributedDataParallel(model)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    step = 0
    for images in loader:
        loss = model(images).mean()
        if not torch.isfinite(loss):
            step += 1
            continue
        loss.backward()
        if step % 10 == 0:
            reveal_rank(count(loader, args.most))  # revealed: same
        step += 1
    reveal_rank(own(loader))  # revealed: local(data)
    reveal_rank(count(loader, args.most))  # revealed: same


main(None, None, None)
