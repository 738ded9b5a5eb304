# A sum is reduced where the settings say that there are several processes, which is where it has to be.
import logging

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

logger = logging.getLogger(__name__)


def sum_on_main(value, settings):
    if settings.world_size > 1:
        dist.reduce(value, 0, op=dist.ReduceOp.SUM)
    return value


def sum_alone(value, settings):
    if settings.world_size == 1:
        dist.reduce(value, 0, op=dist.ReduceOp.SUM)
    return value


def evaluate(settings, model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data), batch_size=8)
    right = torch.zeros(1).cuda()
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum()
    right = sum_on_main(right, settings)
    if dist.get_rank() == 0:
        logger.info("right %f", float(right))


def evaluate_alone(settings, model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data), batch_size=8)
    right = torch.zeros(1).cuda()
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum()
    right = sum_alone(right, settings)
    if dist.get_rank() == 0:
        logger.info("right %f", float(right))  # expect: TRL003
