"""A module in another file that is passed a model and runs it: its code, and its constructor, say what it returns."""

import torch
from losses import Decay, Smoothed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def main(rows):
    model = DistributedDataParallel(torch.nn.Linear(3, 3).cuda())
    smoothed, decay = Smoothed(0.1), Decay(0.2)
    for sample in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss, count, step = smoothed(model, sample)
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(count)  # revealed: partial(count)
        reveal_rank(step)  # revealed: same
        reveal_rank(decay(model))  # revealed: same
