"""The file that has the names."""

import torch


def is_wrapped(model):
    return isinstance(model, torch.nn.parallel.DistributedDataParallel)
