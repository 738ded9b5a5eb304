# A sum is reduced if the settings say that there are several processes, which is when it has to be.
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


def evaluate(settings, model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data), batch_size=8)
    right, count = 0, 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum()
            count += y.size(0)
    right = sum_on_main(right, settings)
    count = sum_on_main(torch.tensor(count).cuda(), settings)
    if dist.get_rank() == 0:
        logger.info("ratio %f", float(right / count))


def evaluate_alone(settings, model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data), batch_size=8)
    right, count = 0, 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum()
            count += y.size(0)
    if dist.get_rank() == 0:
        logger.info("ratio %f", float(right / count))  # expect: TRL003


def main(settings, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    evaluate(settings, model, data)
    evaluate_alone(settings, model, data)


main(torch.load("settings.pt"), torch.load("data.pt"))
